// Lower precision: what a program becomes, and what it costs and gains beside the original.
#include "decisions/fingerprints.h"
#include "decisions/precision.h"
#include "decisions/quantized_weights.h"
#include "graph/program_option.h"
#include "measure/precision_error.h"
#include "measure/wide.h"
#include "service/handlers.h"
#include "service/load.h"
#include "service/to_wire.h"
#include "status.h"
#include "wire/client.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

// The same values in the types that the module takes, f32 where they become bytes.
std::vector<xla::Literal> converted(const std::vector<xla::Literal>& inputs, const xla::HloModule& module) {
  std::vector<xla::Literal> out;
  const std::vector<xla::Shape> shapes = given_shapes(module);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const xla::Shape& wanted = shapes[i];
    const bool same = !wanted.IsArray() || wanted.element_type() == inputs[i].shape().element_type();
    out.push_back(same ? inputs[i].Clone() : take(inputs[i].Convert(wanted.element_type()), "inputs"));
  }
  return with_quantized(std::move(out), module);
}

// Outputs of default XLA for the program in f64; empty where there is no such program.
std::vector<xla::Literal> exact_outputs(const Program& original, const CompileTarget& target, CodeCache* code) {
  try {
    auto module = in_double(original.module());
    if (!module) return {};
    std::vector<xla::Literal> inputs = converted(original.inputs(), *module);
    Program exact(std::move(module), code);
    exact.set_inputs(std::move(inputs));
    return exact.run_outputs(exact.variant(target, {}));
  } catch (const std::exception&) {  // XLA refuses it: a program that means its bits
    return {};
  }
}

}  // namespace

wire::ConvertReplyT Handlers::convert(const wire::ConvertRequestT& request) {
  auto module = program(request.program).module().Clone("");
  module->set_name(program(request.program).module().name());
  const LoweredPrecision lowered = request.precision == kInt8Weights ? quantize_weights(*module, request.weights)
                                                                     : lower_precision(*module, request.weights);
  wire::ConvertReplyT reply;
  reply.weights = lowered.weights;
  reply.dots = lowered.dots;
  reply.module_proto = to_wire_proto(*module);
  return reply;
}

wire::JudgeReplyT Handlers::judge(const wire::JudgeRequestT& request) {
  const CompileTarget target = target_of(request.target.get());
  auto module = load_module(std::string(request.original.begin(), request.original.end()), request.name).module;
  std::unique_ptr<Program>& loaded = programs[module_fingerprint(*module)];
  if (!loaded) loaded = std::make_unique<Program>(std::move(module), code.get());
  Program& original = *loaded;
  original.prepare_inputs(seed_of(request.target.get()), target);
  Program lowered(program(request.program).module().Clone(""), code.get());
  lowered.set_inputs(converted(original.inputs(), lowered.module()));
  Variant& tuned = lowered.variant(target, wire::from_wire(request.decisions));
  const std::vector<xla::Literal> outputs = lowered.run_outputs(tuned);
  const std::vector<xla::Literal>& usual = original.reference(target);
  const std::vector<xla::Literal> exact = exact_outputs(original, target, code.get());
  wire::JudgeReplyT reply;
  reply.against_f64 = exact.size() == usual.size();
  for (size_t i = 0; i < usual.size() && i < outputs.size(); ++i) {
    const xla::Literal& truth = reply.against_f64 ? exact[i] : usual[i];
    const OutputError found = output_error(truth, outputs[i]), by_default = output_error(truth, usual[i]);
    auto row = std::make_unique<wire::OutputErrorT>();
    row->shape = xla::ShapeUtil::HumanString(usual[i].shape());
    row->largest = found.largest;
    row->mean = found.mean;
    row->same_argmax = found.same_argmax;
    row->default_largest = by_default.largest;
    row->default_mean = by_default.mean;
    reply.outputs.push_back(std::move(row));
  }
  DuelOptions options;
  options.budget_ms = request.budget_ms;
  options.cpu_time = target.threads == 1;
  options.cpu = request.cpu;
  const DuelResult result = duel(*original.variant(target, {}).executable, *tuned.executable, options);
  reply.original_ns = result.baseline_ns;
  reply.tuned_ns = result.candidate_ns;
  reply.ratio = result.ratio;
  reply.ratio_low = result.ratio_low;
  reply.ratio_high = result.ratio_high;
  return reply;
}

}  // namespace hone::xla_side
