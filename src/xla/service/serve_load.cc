// Programs and their inputs.
#include "base/error.h"
#include "decisions/fingerprints.h"
#include "decisions/quantized_weights.h"
#include "service/handlers.h"
#include "service/lapack_calls.h"
#include "service/load.h"
#include "service/to_wire.h"
#include "xla/service/hlo_cost_analysis.h"
#include "xla_pch.h"

namespace hone::xla_side {

Program& Handlers::program(const std::string& key) {
  auto it = programs.find(key);
  if (it == programs.end()) throw Error("program " + key + " is not loaded");
  return *it->second;
}

wire::LoadReplyT Handlers::load(const wire::LoadRequestT& request) {
  LoadedModule loaded = load_module(std::string(request.bytes.begin(), request.bytes.end()), request.name);
  wire::LoadReplyT reply;
  reply.format = loaded.format;
  reply.name = loaded.module->name();
  reply.program = module_fingerprint(*loaded.module);
  reply.instructions = loaded.module->instruction_count();
  reply.opcodes = count_opcodes(*loaded.module);
  xla::HloCostAnalysis cost([](const xla::Shape& shape) { return xla::ShapeUtil::ByteSizeOf(shape, 8); });
  if (loaded.module->entry_computation()->Accept(&cost).ok()) {
    reply.flops = std::max(0.0f, cost.flop_count());
    reply.transcendentals = std::max(0.0f, cost.transcendental_count());
    reply.bytes_accessed = std::max(0.0f, cost.bytes_accessed());
  }
  const auto* entry = loaded.module->entry_computation();
  for (const xla::Shape& shape : given_shapes(*loaded.module))
    reply.parameters.push_back(xla::ShapeUtil::HumanString(shape));
  const xla::Shape& result = entry->root_instruction()->shape();
  if (!result.IsTuple())
    reply.results.push_back(xla::ShapeUtil::HumanString(result));
  else
    for (const auto& sub : result.tuple_shapes()) reply.results.push_back(xla::ShapeUtil::HumanString(sub));
  loaded.module->input_output_alias_config().ForEachAlias(
      [&](const xla::ShapeIndex&, const xla::HloInputOutputAliasConfig::Alias& alias) {
        reply.donated.push_back(alias.parameter_number);
      });
  reply.left_out = loaded.left_out;
  reply.left_out_parameters = loaded.left_out_parameters;
  for (const auto& [target, calls] : calls_without_handler(*loaded.module)) {
    reply.unknown_calls.push_back(std::make_unique<wire::CountT>());
    reply.unknown_calls.back()->name = target;
    reply.unknown_calls.back()->count = calls;
  }
  reply.lapack = lapack_of(*loaded.module);
  reply.module_proto = to_wire_proto(*loaded.module);
  auto& slot = programs[reply.program];
  if (!slot) slot = std::make_unique<Program>(std::move(loaded.module), code.get());
  if (!loaded.inputs.empty()) {
    for (const auto& literal : loaded.inputs)
      if (literal.shape().IsArray()) reply.snapshot_inputs.push_back(to_wire_array(literal));
    if (!slot->inputs_given()) slot->set_inputs(std::move(loaded.inputs));
  }
  return reply;
}

wire::InputsReplyT Handlers::inputs(const wire::InputsRequestT& request) {
  if (request.inputs.empty()) return {};
  std::vector<xla::Literal> literals;
  for (size_t i = 0; i < request.inputs.size(); ++i) literals.push_back(to_literal(*request.inputs[i], i));
  Program& loaded = program(request.program);
  loaded.set_inputs(with_quantized(std::move(literals), loaded.module()));
  kinds.clear();  // they are made of the ordinary ones
  return {};
}

}  // namespace hone::xla_side
