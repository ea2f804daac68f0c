#include "measure/placed_run.h"

#include <atomic>
#include <barrier>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <tuple>

#include "base/clock.h"
#include "measure/host_client.h"
#include "status.h"
#include "xla/hlo/builder/xla_computation.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using Buffers = std::vector<std::unique_ptr<xla::PjRtBuffer>>;

// The module has been through XLA's passes.
xla::CompileOptions segment_options(const CompileTarget& target) {
  xla::CompileOptions options = host_options(target, {0});
  options.executable_build_options.mutable_debug_options()->set_xla_disable_all_hlo_passes(true);
  return options;
}

}  // namespace

struct PlacedRun::Client {
  int devices = 1;
  double compile_ms = 0;
  Segments segments;
  // [devices]: a client for each. The devices of one client share its threads, and its calling thread computes beside them: a device would
  // have two.
  std::vector<std::unique_ptr<xla::PjRtClient>> pjrt;
  std::vector<xla::PjRtMemorySpace*> memory;  // [devices]
  std::vector<std::unique_ptr<xla::PjRtLoadedExecutable>> executables;
  std::vector<Buffers> inputs;   // [devices][parameters], null where the device reads it not
  std::vector<Buffers> results;  // [segments]
  std::vector<std::map<std::pair<int, int>, std::unique_ptr<xla::PjRtBuffer>>>
      copies;  // [devices]: by segment and result

  struct Run {
    std::vector<std::atomic<int>> done;  // [segments]: 1, or 2 after a failure
    std::mutex mutex;
    std::exception_ptr failed;
  };
  std::unique_ptr<xla::PjRtBuffer> copied(xla::PjRtBuffer& buffer, int device);
  void run_segment(size_t s, Run& run);
  void run_device(int device, Run& run);
};

PlacedRun::PlacedRun(const xla::HloModule& program, const Placement& placement, const CompileTarget& target)
    : client_(std::make_unique<Client>()) {
  Client& c = *client_;
  c.devices = placement.devices;
  c.segments = cut(program, target, placement);
  for (int d = 0; d < c.devices; ++d) {
    c.pjrt.push_back(host_client(1, target.threads, /*asynchronous=*/true));
    c.memory.push_back(take(c.pjrt[d]->addressable_devices()[0]->default_memory_space(), "memory of a device"));
  }
  const double start_s = steady_s();
  at_stage(Stage::Codegen, [&] {
    for (const Segment& segment : c.segments.segments)
      c.executables.push_back(take(c.pjrt[segment.device]->CompileAndLoad(
                                       xla::XlaComputation(segment.module->ToProto()), segment_options(target)),
                                   "compile a segment"));
  });
  c.compile_ms = ms_since(start_s);
}

PlacedRun::~PlacedRun() = default;
double PlacedRun::compile_ms() const { return client_->compile_ms; }

void PlacedRun::set_inputs(const std::vector<xla::Literal>& inputs) {
  Client& c = *client_;
  c.inputs.clear();
  c.inputs.resize(c.devices);
  std::vector<std::set<int>> read(c.devices);
  for (const Segment& segment : c.segments.segments)
    for (const SegmentValue& value : segment.inputs)
      if (value.parameter >= 0) read[segment.device].insert(value.parameter);
  for (const SegmentValue& value : c.segments.results)
    if (value.parameter >= 0) read[0].insert(value.parameter);
  for (int d = 0; d < c.devices; ++d) {
    c.inputs[d].resize(inputs.size());
    for (int i : read[d]) {
      c.inputs[d][i] = take(c.pjrt[d]->BufferFromHostLiteral(inputs.at(i), c.memory[d]), "input");
      check(c.inputs[d][i]->GetReadyFuture().Await(), "input");
    }
  }
}

// By this thread.
std::unique_ptr<xla::PjRtBuffer> PlacedRun::Client::copied(xla::PjRtBuffer& buffer, int device) {
  const auto from = take(buffer.AcquireExternalReference(), "copy");
  const xla::Shape& shape = buffer.on_device_shape();
  auto copy = take(pjrt[device]->BufferFromHostBuffer(
                       from->OpaqueDeviceMemoryDataPointer(), shape.element_type(), shape.dimensions(), std::nullopt,
                       xla::PjRtClient::HostBufferSemantics::kImmutableOnlyDuringCall, nullptr, memory[device],
                       /*device_layout=*/nullptr),
                   "copy");
  check(copy->GetReadyFuture().Await(), "copy");
  return copy;
}

void PlacedRun::Client::run_segment(size_t s, Run& run) {
  const Segment& segment = segments.segments[s];
  std::vector<xla::PjRtBuffer*> arguments;
  for (const SegmentValue& value : segment.inputs) {
    if (value.parameter >= 0) {
      arguments.push_back(inputs[segment.device][value.parameter].get());
      continue;
    }
    run.done[value.segment].wait(0);
    if (run.done[value.segment] != 1) throw RunError("another device failed");
    xla::PjRtBuffer* buffer = results[value.segment].at(value.result).get();
    if (segments.segments[value.segment].device != segment.device) {
      auto& copy = copies[segment.device][{value.segment, value.result}];
      if (!copy) copy = copied(*buffer, segment.device);
      buffer = copy.get();
    }
    arguments.push_back(buffer);
  }
  auto found = take(executables[s]->Execute({arguments}, xla::ExecuteOptions()), "run");
  results[s] = std::move(found.at(0));
  for (const auto& buffer : results[s]) check(buffer->GetReadyFuture().Await(), "run");
}

void PlacedRun::Client::run_device(int device, Run& run) {
  for (size_t s = 0; s < segments.segments.size(); ++s) {
    if (segments.segments[s].device != device) continue;
    int state = 1;
    try {
      run_segment(s, run);
    } catch (...) {
      state = 2;
      const std::lock_guard lock(run.mutex);
      if (!run.failed) run.failed = std::current_exception();
    }
    run.done[s] = state;
    run.done[s].notify_all();
  }
}

double PlacedRun::run() {
  Client& c = *client_;
  const size_t count = c.segments.segments.size();
  c.copies.clear();
  c.results.clear();
  c.copies.resize(c.devices);
  c.results.resize(count);
  Client::Run run{std::vector<std::atomic<int>>(count), {}, nullptr};
  std::barrier start(c.devices);  // this thread is the first device's
  std::vector<std::thread> threads;
  for (int d = 1; d < c.devices; ++d)
    threads.emplace_back([&, d] {
      start.arrive_and_wait();
      c.run_device(d, run);
    });
  start.arrive_and_wait();
  const double start_s = steady_s();
  c.run_device(0, run);
  for (auto& done : run.done) done.wait(0);
  const double ns = 1e6 * ms_since(start_s);
  for (auto& thread : threads) thread.join();
  if (run.failed) std::rethrow_exception(run.failed);
  return ns;
}

std::vector<xla::Literal> PlacedRun::outputs() const {
  const Client& c = *client_;
  std::vector<xla::Literal> out;
  for (const SegmentValue& value : c.segments.results) {
    const auto& buffer =
        value.parameter >= 0 ? c.inputs[0].at(value.parameter) : c.results.at(value.segment).at(value.result);
    out.push_back(take(buffer->ToLiteral().Await(), "output")->Clone());
  }
  return out;
}

std::string PlacedRun::summary() const {
  std::set<int> used;
  std::set<std::tuple<int, int, int>> copied;  // what was, to which device
  int64_t bytes = 0;
  const auto& all = client_->segments.segments;
  for (const Segment& segment : all) {
    used.insert(segment.device);
    const auto& shape = segment.module->entry_computation_layout();
    for (size_t i = 0; i < segment.inputs.size(); ++i) {
      const SegmentValue& value = segment.inputs[i];
      if (value.segment < 0 || all[value.segment].device == segment.device) continue;
      if (!copied.insert({value.segment, value.result, segment.device}).second) continue;
      bytes += xla::ShapeUtil::ByteSizeOf(shape.parameter_shape(static_cast<int>(i)));
    }
  }
  return std::to_string(all.size()) + " segments on " + std::to_string(used.size()) + " devices, " +
         std::to_string(copied.size()) + " copies of " + std::to_string(bytes) + " bytes";
}

}  // namespace hone::xla_side
