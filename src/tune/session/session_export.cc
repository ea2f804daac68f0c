// Session: what a process without Hone needs to run the program, and what its outputs are worth.
#include <utility>

#include "tune/session/replies.h"
#include "tune/session/session.h"
#include "wire/despite_kills.h"

namespace hone::tune {
namespace {

constexpr double kExportSeconds = 3600;  // the program may have to run first, to compare with

}  // namespace

wire::ExportReplyT Session::exported(const Decisions& decisions) {
  return wire::despite_kills([&] {
    wire::ExportRequestT request;
    request.program = program_.program;
    request.target = wire_target();
    request.decisions = wire::to_wire(decisions);
    return worker_.call<wire::ExportReplyT>(std::move(request), kExportSeconds);
  });
}

std::vector<NamedArray> Session::inputs() {
  auto reply = wire::despite_kills([&] {
    wire::RunRequestT request;
    request.program = program_.program;
    request.target = wire_target();
    request.want_inputs = true;
    return worker_.call<wire::RunReplyT>(std::move(request), kExportSeconds);
  });
  std::vector<NamedArray> arrays;
  for (size_t i = 0; i < reply.inputs.size(); ++i) {
    wire::ArrayT& array = *reply.inputs[i];
    arrays.push_back({"arr_" + std::to_string(i), array.type, array.dims, std::move(array.data)});
  }
  return arrays;
}

Measurement Session::judge_outputs(std::vector<NamedArray> outputs) {
  wire::VerifyRequestT request;
  request.program = program_.program;
  request.target = wire_target();
  for (NamedArray& array : outputs) {
    auto& sent = *request.outputs.emplace_back(std::make_unique<wire::ArrayT>());
    sent.type = std::move(array.type);
    sent.dims = std::move(array.dims);
    sent.data = std::move(array.bytes);
  }
  const auto reply = worker_.call<wire::VerifyReplyT>(std::move(request), kExportSeconds);
  Measurement judged{.outcome = outcome_of(reply.verdict)};
  judged.max_error = reply.max_error;
  judged.note = reply.note;
  return judged;
}

}  // namespace hone::tune
