#include "service/service.h"

#include <fstream>
#include <iostream>
#include <thread>

#include "base/machine.h"
#include "base/stage.h"
#include "base/xla_version.h"
#include "decisions/seam_state.h"
#include "passes/pass_states.h"
#include "service/handlers.h"
#include "service/versions.h"
#include "status.h"
#include "wire/client.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

constexpr size_t kShareOfFreed = 8;  // of the machine's memory: what executables that are gone leave to the next ones

}  // namespace

wire::HelloReplyT Handlers::hello() {
  wire::HelloReplyT reply;
  reply.xla_version = xla_version();
  for (const auto& [name, version] : library_versions()) {
    auto library = std::make_unique<wire::LibraryT>();
    library->name = name;
    library->version = version;
    reply.libraries.push_back(std::move(library));
  }
  reply.cpu = this_machine().cpu;
  reply.cores = std::thread::hardware_concurrency();
  for (const SeamState& seam : seam_states()) {
    auto out = std::make_unique<wire::SeamT>();
    out->name = seam.name;
    out->ok = seam.on;
    out->why = seam.on ? "" : "switched off by the self-test";
    reply.seams.push_back(std::move(out));
  }
  return reply;
}

wire::ApplyReplyT Handlers::apply(const wire::ApplyRequestT& request) {
  return states.try_emplace(request.program, program(request.program).module()).first->second.apply(request);
}

Service::Service(const ServiceOptions& options) : handlers_(std::make_unique<Handlers>()) {
  AlignedBuffer::keep_freed(static_cast<size_t>(this_machine().memory_bytes) / kShareOfFreed);
  if (!options.cache_code) return;
  std::unique_ptr<ObjectStore> store;
  try {
    ObjectStoreOptions folder{options.cache_folder};
    if (options.cache_bytes > 0) folder.limit_bytes = options.cache_bytes;
    if (!folder.folder.empty()) store = std::make_unique<ObjectStore>(folder);
  } catch (const Error& e) {
    std::cerr << "hone-xla: no cache on disk: " << e.what() << "\n";
  }
  if (store) cache_folder_ = store->folder();
  handlers_->code = std::make_unique<CodeCache>(std::move(store));
}
Service::~Service() = default;

namespace {

std::unique_ptr<wire::FailureT> failure_of(int code, const Error& error, Stage stage) {
  auto failure = std::make_unique<wire::FailureT>();
  failure->code = code;
  failure->stage = wire::to_wire(stage);
  failure->message = error.what();
  failure->where = error.where();
  failure->hint = error.hint();
  return failure;
}

}  // namespace

wire::ReplyT Service::handle(const wire::RequestT& request) {
  wire::ReplyT reply;
  reply.id = request.id;
  const auto fail = [&](int code, const Error& error, Stage stage = Stage::None) {
    reply.failure = failure_of(code, error, stage);
  };
  try {
    const auto& body = request.body;
    if (body.AsHelloRequest())
      reply.body.Set(handlers_->hello());
    else if (auto* r = body.AsLoadRequest())
      reply.body.Set(at_stage(Stage::Load, [&] { return handlers_->load(*r); }));
    else if (auto* r = body.AsInputsRequest())
      reply.body.Set(handlers_->inputs(*r));
    else if (auto* r = body.AsLowerRequest())
      reply.body.Set(handlers_->lower(*r));
    else if (auto* r = body.AsListKernelsRequest())
      reply.body.Set(handlers_->list_kernels(*r));
    else if (auto* r = body.AsListLayoutsRequest())
      reply.body.Set(handlers_->list_layouts(*r));
    else if (auto* r = body.AsMeasureRequest())
      reply.body.Set(handlers_->measure(*r));
    else if (auto* r = body.AsConvertRequest())
      reply.body.Set(handlers_->convert(*r));
    else if (auto* r = body.AsJudgeRequest())
      reply.body.Set(handlers_->judge(*r));
    else if (auto* r = body.AsCompileRequest())
      reply.body.Set(handlers_->compile(*r));
    else if (auto* r = body.AsRunRequest())
      reply.body.Set(handlers_->run(*r));
    else if (auto* r = body.AsExportRequest())
      reply.body.Set(handlers_->export_program(*r));
    else if (auto* r = body.AsVerifyRequest())
      reply.body.Set(handlers_->verify_outputs(*r));
    else if (auto* r = body.AsCheckRequest())
      reply.body.Set(handlers_->check_outputs(*r));
    else if (auto* r = body.AsPartitionRequest())
      reply.body.Set(handlers_->partition_program(*r));
    else if (auto* r = body.AsRunShardedRequest())
      reply.body.Set(handlers_->run_sharded(*r));
    else if (body.AsPassesRequest())
      reply.body.Set(list_passes());
    else if (auto* r = body.AsApplyRequest())
      reply.body.Set(handlers_->apply(*r));
    else
      fail(1, Error("unknown request"));
  } catch (const StageError& e) {
    fail(1, e, e.stage());
  } catch (const RunError& e) {
    fail(1, e);
  } catch (const Error& e) {
    fail(2, e);
  } catch (const std::exception& e) {
    fail(1, Error(e.what()));
  }
  return reply;
}

}  // namespace hone::xla_side
