#include "measure/sharded_run.h"

#include <cstring>
#include <numeric>

#include "base/clock.h"
#include "measure/host_client.h"
#include "status.h"
#include "xla/hlo/builder/xla_computation.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

xla::Shape descending(const xla::Shape& shape) {
  return xla::ShapeUtil::MakeShapeWithDescendingLayout(shape.element_type(), shape.dimensions());
}

xla::CompileOptions compile_options(const CompileTarget& target, int partitions) {
  std::vector<int> devices(partitions);
  std::iota(devices.begin(), devices.end(), 0);
  xla::CompileOptions options = host_options(target, devices);
  auto& build = options.executable_build_options;
  build.set_use_spmd_partitioning(partitions > 1);
  build.set_use_shardy_partitioner(false);
  build.set_allow_spmd_sharding_propagation_to_output({true});
  return options;
}

}  // namespace

struct ShardedRun::Client {
  int partitions = 1;
  double compile_ms = 0;
  std::vector<xla::HloSharding> parameters, results;
  std::vector<xla::Shape> result_shapes;  // of the whole program
  std::unique_ptr<xla::PjRtClient> pjrt;
  std::unique_ptr<xla::PjRtLoadedExecutable> executable;
  std::vector<std::vector<std::unique_ptr<xla::PjRtBuffer>>> inputs, outputs;  // by device
};

ShardedRun::ShardedRun(const xla::HloModule& program, const Partitioning& partitioning, const CompileTarget& target)
    : client_(std::make_unique<Client>()) {
  Client& c = *client_;
  c.partitions = partitioning.partitions;
  const auto module = with_shardings(program, partitioning);
  const xla::Shape& result = program.entry_computation()->root_instruction()->shape();
  for (const xla::Shape& leaf : result.IsTuple() ? result.tuple_shapes() : std::vector<xla::Shape>{result}) {
    if (!leaf.IsArray()) throw RunError("results inside a tuple of a tuple cannot be put together");
    c.result_shapes.push_back(descending(leaf));
  }
  for (const auto* parameter : module->entry_computation()->parameter_instructions()) {
    if (!parameter->shape().IsArray()) throw RunError("a tuple as a parameter cannot be divided between devices");
    c.parameters.push_back(parameter->sharding());
  }
  c.pjrt = host_client(c.partitions, target.threads, /*asynchronous=*/true);
  const double start_s = steady_s();
  at_stage(Stage::Codegen, [&] {
    c.executable =
        take(c.pjrt->CompileAndLoad(xla::XlaComputation(module->ToProto()), compile_options(target, c.partitions)),
             "compile");
  });
  c.compile_ms = ms_since(start_s);
  const auto modules = take(c.executable->GetHloModules(), "compiled program");
  if (c.partitions > 1 && modules[0]->has_spmd_output_sharding()) {
    const xla::HloSharding& whole = modules[0]->spmd_output_sharding();
    c.results = whole.IsTuple()
                    ? std::vector<xla::HloSharding>(whole.tuple_elements().begin(), whole.tuple_elements().end())
                    : std::vector<xla::HloSharding>{whole};
  }
  if (c.results.size() != c.result_shapes.size())
    c.results.assign(c.result_shapes.size(), xla::HloSharding::Replicate());
}

ShardedRun::~ShardedRun() = default;
ShardedRun::ShardedRun(ShardedRun&&) noexcept = default;
double ShardedRun::compile_ms() const { return client_->compile_ms; }

void ShardedRun::set_inputs(const std::vector<xla::Literal>& inputs) {
  Client& c = *client_;
  c.inputs.clear();
  for (int d = 0; d < c.partitions; ++d) {
    auto* memory = take(c.pjrt->addressable_devices()[d]->default_memory_space(), "memory of a device");
    auto& own = c.inputs.emplace_back();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const xla::HloSharding& sharding = c.parameters[i];
      const bool whole = sharding.IsTileMaximal();
      const xla::Literal part = whole ? inputs[i].Clone()
                                      : inputs[i].Slice(sharding.TileOffsetForDevice(inputs[i].shape(), d),
                                                        sharding.TileLimitForDevice(inputs[i].shape(), d));
      own.push_back(take(c.pjrt->BufferFromHostLiteral(part, memory), "input"));
      check(own.back()->GetReadyFuture().Await(), "input");  // it reads the literal until then
    }
  }
}

double ShardedRun::run() {
  Client& c = *client_;
  std::vector<std::vector<xla::PjRtBuffer*>> arguments;
  for (const auto& of_device : c.inputs) {
    auto& list = arguments.emplace_back();
    for (const auto& buffer : of_device) list.push_back(buffer.get());
  }
  c.outputs.clear();
  const double start_s = steady_s();
  c.outputs = take(c.executable->Execute(arguments, xla::ExecuteOptions()), "run");
  for (const auto& of_device : c.outputs)
    for (const auto& buffer : of_device) check(buffer->GetReadyFuture().Await(), "run");
  return 1e6 * ms_since(start_s);
}

std::vector<xla::Literal> ShardedRun::outputs() const {
  const Client& c = *client_;
  std::vector<xla::Literal> out;
  for (size_t i = 0; i < c.result_shapes.size(); ++i) {
    xla::Literal whole(c.result_shapes[i]);
    const xla::HloSharding& sharding = c.results[i];
    for (int d = 0; d < c.partitions; ++d) {
      const auto part = take(c.outputs[d].at(i)->ToLiteral().Await(), "output");
      if (sharding.IsTileMaximal()) {
        if (d == 0) check(whole.CopyFrom(*part), "output");
        if (std::memcmp(part->untyped_data(), whole.untyped_data(), static_cast<size_t>(whole.size_bytes())) != 0)
          throw RunError("devices have different copies of a result that is on all of them");
        continue;
      }
      const std::vector<int64_t> from = sharding.TileOffsetForDevice(whole.shape(), d);
      std::vector<int64_t> size = sharding.TileLimitForDevice(whole.shape(), d);
      for (size_t k = 0; k < size.size(); ++k) size[k] -= from[k];
      check(whole.CopySliceFrom(*part, std::vector<int64_t>(from.size(), 0), from, size), "output");
    }
    out.push_back(std::move(whole));
  }
  return out;
}

}  // namespace hone::xla_side
