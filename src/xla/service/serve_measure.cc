// Answers requests for duels of a candidate against a baseline, and for runs.
#include <fstream>

#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/machine.h"
#include "decisions/operation_rewrites.h"
#include "decisions/weights.h"
#include "measure/exact.h"
#include "measure/inputs.h"
#include "measure/interpreter.h"
#include "measure/profile.h"
#include "service/handlers.h"
#include "service/judge.h"
#include "service/to_wire.h"
#include "status.h"
#include "wire/client.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

constexpr int64_t kKernelInputLimit = int64_t{2} << 30;
constexpr size_t kKeptKernels = 3;
constexpr double kSlowRunMs = 500;  // slower programs are run as rarely as possible

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * 4096;
}

int64_t bytes_of_inputs(const xla::HloModule& program) {
  int64_t bytes = 0;
  for (const auto* parameter : program.entry_computation()->parameter_instructions())
    bytes += xla::ShapeUtil::ByteSizeOf(parameter->shape(), sizeof(void*));
  return bytes;
}

void bind_all(Executable& executable, const std::vector<xla::Literal>& inputs) {
  for (size_t i = 0; i < executable.inputs().size(); ++i)
    executable.set_input(i, inputs[executable.inputs()[i].parameter].untyped_data(executable.inputs()[i].index));
}

std::vector<xla::Literal> outputs_of(Executable& executable) {
  executable.refresh_donated();
  executable.run();
  std::vector<xla::Literal> outputs;
  for (size_t i = 0; i < executable.outputs().size(); ++i) outputs.push_back(executable.output_literal(i));
  return outputs;
}

std::unique_ptr<Executable> compile_kernel(const std::string& hlo, const std::string& value,
                                           const CompileTarget& target, CodeCache* code) {
  return std::make_unique<Executable>(kernel_code(hlo, value, target, code), RunSettings{.threads = target.threads});
}

// What the cache did for one request, from what it had done before.
std::unique_ptr<wire::CodeCountsT> code_counts(CodeCache* code, const CodeCounters& before) {
  if (code == nullptr) return nullptr;
  const CodeCounters now = code->counters();
  auto counts = std::make_unique<wire::CodeCountsT>();
  counts->reused = now.reused - before.reused;
  counts->linked = now.linked - before.linked;
  counts->relinked = now.relinked - before.relinked;
  counts->compiled = now.compiled - before.compiled;
  counts->resumed = now.resumed - before.resumed;
  counts->saved_ms = now.saved_ms - before.saved_ms;
  return counts;
}

DuelOptions duel_options(const wire::MeasureRequestT& request, int threads, bool warm) {
  DuelOptions options;
  options.warm = warm;
  options.min_rounds = request.min_rounds;
  options.max_rounds = std::max(request.max_rounds, request.min_rounds);
  options.budget_ms = request.budget_ms;
  options.precision = request.precision;
  options.abandon_ratio = request.abandon_ratio;
  options.cpu_time = threads == 1;
  options.cpu = request.cpu;
  if (request.cold) options.cold = Cold::Inputs;
  options.patience_ms = request.patience_ms;
  options.core_ns = request.core_ns;
  return options;
}

// `reply`: a MeasureReplyT, or the KernelTimesT of one kernel in it.
template <class Reply>
void set_times(const DuelResult& result, Reply& reply) {
  reply.baseline_ns = result.baseline_ns;
  reply.candidate_ns = result.candidate_ns;
  reply.ratio = result.ratio;
  reply.ratio_low = result.ratio_low;
  reply.ratio_high = result.ratio_high;
  reply.rounds = result.rounds;
  if constexpr (requires { reply.core_ns; }) {
    reply.core_ns = result.core_ns;
    reply.stolen_ms = result.stolen_ms;
  }
}

void run_in_place(Executable& baseline, Executable& candidate, const wire::MeasureRequestT& request,
                  const DuelOptions& options, wire::MeasureReplyT& reply) {
  if (!options.warm) time_runs(baseline, 0, options.cpu_time);  // the candidate has just run for its outputs
  std::vector<std::vector<std::string>> kernels;
  for (const auto& kernel : request.in_place) kernels.push_back(kernel->names);
  const InPlaceDuel found = duel_in_place(baseline, candidate, kernels, options);
  set_times(found.whole, reply);
  for (const DuelResult& kernel : found.kernels)
    set_times(kernel, *reply.in_place.emplace_back(std::make_unique<wire::KernelTimesT>()));
}

// Compares outputs that passed with those of XLA's HLO interpreter, too, if the program is small enough.
void check_evaluator(const Program& program, const std::vector<xla::Literal>& reference,
                     const std::vector<xla::Literal>& outputs, wire::MeasureReplyT& reply) {
  const Interpreted expected = interpret(program.module(), program.inputs());
  // If default XLA differs from it, too, skip the check.
  if (!expected.why.empty() || compare(expected.outputs, reference).max_error > kInterpreterTolerance) return;
  reply.evaluator_checked = true;
  if (compare(expected.outputs, outputs).max_error > kInterpreterTolerance)
    set_verdict(reply, wire::Verdict::Mismatch, Stage::Compare, "outputs differ from the HLO interpreter's");
}

// Whether the operation is nearly as exact as default XLA's. Sums of one rounding differ by chance: they count as one unit in
// the last place of its largest value.
bool judge_error(OperationAlone& operation, const xla::Literal& reference, const xla::Literal& output,
                 const wire::MeasureRequestT& request, wire::MeasureReplyT& reply) {
  if (!std::exchange(operation.sampled, true)) {
    operation.exact = exact_samples(operation.program->module(), operation.program->inputs());
    if (operation.exact) operation.default_error = error_against(*operation.exact, reference);
  }
  if (!operation.exact) return true;
  reply.default_error = operation.default_error;
  reply.error = error_against(*operation.exact, output);
  const double unit = std::ldexp(1, -xla::primitive_util::SignificandWidth(reference.shape().element_type()));
  const double most = request.target->most_error * std::max(reply.default_error, unit);
  if (reply.error <= most) return true;
  set_verdict(reply, wire::Verdict::Mismatch, Stage::Compare,
              absl::StrFormat("its error against f64 is %.2g of the largest value, default XLA's %.2g", reply.error,
                              reply.default_error));
  return false;
}

}  // namespace

MeasuredKernel& Handlers::kernel(const wire::MeasureRequestT& request, const CompileTarget& target) {
  const std::string key = std::to_string(target.threads) + target.max_isa + request.kernel_hlo;
  for (auto it = kernels.begin(); it != kernels.end(); ++it)
    if (it->key == key) {
      kernels.splice(kernels.begin(), kernels, it);
      return kernels.front();
    }
  MeasuredKernel bench;
  bench.key = key;
  const double start_s = steady_s();
  bench.baseline = compile_kernel(request.kernel_hlo, "", target, code.get());
  bench.compile_ms = ms_since(start_s);
  const auto module = kernel_module(request.kernel_hlo, target);
  for (uint64_t attempt = 0; attempt < 3; ++attempt) {
    bench.inputs = generate_inputs(*module, seed_of(request.target.get()) + attempt * 7919, kKernelInputLimit);
    bind_all(*bench.baseline, bench.inputs);
    bench.reference = outputs_of(*bench.baseline);
    if (compare(bench.reference, bench.reference).informative) break;
  }
  kernels.push_front(std::move(bench));
  while (kernels.size() > kKeptKernels) kernels.pop_back();
  return kernels.front();
}

wire::MeasureReplyT Handlers::measure_kernel(const wire::MeasureRequestT& request) {
  const CompileTarget target = target_of(request.target.get());
  MeasuredKernel& bench = kernel(request, target);
  wire::MeasureReplyT reply;
  reply.baseline_compile_ms = bench.compile_ms;
  about_candidate(reply, [&] {
    const double start_s = steady_s();
    auto candidate = compile_kernel(request.kernel_hlo, request.kernel_value, target, code.get());
    reply.compile_ms = ms_since(start_s);
    bind_all(*candidate, bench.inputs);
    if (judge_outputs(compare(bench.reference, outputs_of(*candidate)), reply))
      set_times(duel(*bench.baseline, *candidate, duel_options(request, target.threads, /*warm=*/false)), reply);
  });
  reply.rss_bytes = resident_bytes();
  return reply;
}

wire::MeasureReplyT Handlers::measure(const wire::MeasureRequestT& request) {
  const CodeCounters before = code ? code->counters() : CodeCounters();
  wire::MeasureReplyT reply = !request.operation.empty()    ? measure_operation(request)
                              : !request.kernel_hlo.empty() ? measure_kernel(request)
                                                            : measure_program(request);
  reply.code = code_counts(code.get(), before);
  return reply;
}

OperationAlone& Handlers::operation(const wire::MeasureRequestT& request, const CompileTarget& target) {
  Program& whole = program(request.program);
  const Decisions storage = of_kind(wire::from_wire(request.baseline), DecisionKind::Weights);
  const std::string key =
      request.program + "\n" + target_key(target) + "\n" + to_text(storage) + "\n" + request.operation;
  const auto known = std::find_if(operations.begin(), operations.end(), [&](const auto& o) { return o.key == key; });
  if (known != operations.end()) {
    operations.splice(operations.begin(), operations, known);
    return operations.front();
  }
  auto module = whole.module().Clone("");
  if (!storage.empty()) whole.prepare_inputs(seed_of(request.target.get()), target);
  apply_weight_storage(*module, weight_storage(*module, target.weights, storage), &whole.inputs());
  AloneModule alone = operation_alone(*module, request.operation, target.weights);
  operations.push_front(
      {key, std::make_unique<Program>(std::move(alone.module), code.get()), std::move(alone.weights)});
  while (operations.size() > kKeptKernels) operations.pop_back();
  return operations.front();
}

// As a program, and with its error against f64, which must be within bounds.
wire::MeasureReplyT Handlers::measure_operation(const wire::MeasureRequestT& request) {
  CompileTarget target = target_of(request.target.get());
  OperationAlone& alone = operation(request, target);
  target.weights = alone.weights;
  Program& p = *alone.program;
  p.prepare_inputs(seed_of(request.target.get()), target);
  const auto& reference = p.reference(target);
  const Decisions rewrites = of_kind(wire::from_wire(request.decisions), DecisionKind::Rewrite);
  wire::MeasureReplyT reply;
  Variant& baseline = p.variant(target, {});
  reply.baseline_compile_ms = baseline.compile_ms;
  about_candidate(reply, [&] {
    Variant& candidate = p.variant(target, rewrites);
    reply.compile_ms = candidate.compile_ms;
    const std::vector<xla::Literal> outputs = p.run_outputs(candidate);
    if (!judge_outputs(compare(reference, outputs), reply) ||
        !judge_error(alone, reference[0], outputs[0], request, reply))
      return;
    DuelOptions options = duel_options(request, target.threads, /*warm=*/false);
    if (bytes_of_inputs(program(request.program).module()) > std::max(data_cache_bytes(3), data_cache_bytes(2)))
      options.cold = Cold::Weights;
    set_times(duel(*baseline.executable, *candidate.executable, options), reply);
  });
  reply.rss_bytes = resident_bytes();
  return reply;
}

wire::MeasureReplyT Handlers::measure_program(const wire::MeasureRequestT& request) {
  Program& p = program(request.program);
  const CompileTarget target = target_of(request.target.get());
  p.prepare_inputs(seed_of(request.target.get()), target);
  const auto& reference = p.reference(target);
  wire::MeasureReplyT reply;
  Variant& baseline = p.variant(target, wire::from_wire(request.baseline));
  reply.baseline_compile_ms = baseline.compile_ms;
  const Decisions decisions = wire::from_wire(request.decisions);
  if (decisions.empty()) reply.evaluator_s = seconds_to_interpret(p.module());
  about_candidate(reply, [&] {
    Variant& candidate = p.variant(target, decisions);
    reply.compile_ms = candidate.compile_ms;
    // Slow programs are run less often: default XLA's outputs are the reference, and a variant that has run is warm.
    std::vector<xla::Literal> run;
    const bool known = decisions.empty() && candidate.run_ms > kSlowRunMs;
    if (!known) run = p.run_outputs(candidate);
    const std::vector<xla::Literal>& outputs = known ? reference : run;
    const bool warm = std::max(baseline.run_ms, candidate.run_ms) > kSlowRunMs;
    const bool equal =
        judge_outputs(compare(reference, outputs), reply) || judge_by_wide(p, target, reference, outputs, reply);
    if (equal && request.check_evaluator) check_evaluator(p, reference, outputs, reply);
    if (reply.verdict != wire::Verdict::Ok && !decisions.empty()) return;
    const DuelOptions options = duel_options(request, target.threads, warm);
    if (!request.in_place.empty() && target.threads == 1 && &baseline != &candidate)
      run_in_place(*baseline.executable, *candidate.executable, request, options, reply);
    else
      set_times(duel(*baseline.executable, *candidate.executable, options), reply);
  });
  reply.rss_bytes = resident_bytes();
  return reply;
}

wire::VerifyReplyT Handlers::verify_outputs(const wire::VerifyRequestT& request) {
  Program& p = program(request.program);
  const CompileTarget target = target_of(request.target.get());
  p.prepare_inputs(seed_of(request.target.get()), target);
  const auto& reference = p.reference(target);
  std::vector<xla::Literal> outputs;
  for (size_t i = 0; i < request.outputs.size(); ++i) outputs.push_back(to_literal(*request.outputs[i], i));
  const auto same_shape = [](const xla::Literal& a, const xla::Literal& b) {
    return xla::ShapeUtil::Compatible(a.shape(), b.shape());
  };
  if (!std::equal(reference.begin(), reference.end(), outputs.begin(), outputs.end(), same_shape))
    throw RunError("the outputs to compare have other shapes than the program's");
  wire::MeasureReplyT judged;
  if (!judge_outputs(compare(reference, outputs), judged)) judge_by_wide(p, target, reference, outputs, judged);
  wire::VerifyReplyT reply;
  reply.verdict = judged.verdict;
  reply.max_error = judged.max_error;
  reply.note = judged.note;
  return reply;
}

wire::RunReplyT Handlers::run(const wire::RunRequestT& request) {
  Program& p = program(request.program);
  const CompileTarget target = target_of(request.target.get());
  p.prepare_inputs(seed_of(request.target.get()), target);
  Variant& variant = p.variant(target, wire::from_wire(request.decisions));
  wire::RunReplyT reply;
  reply.fingerprint = variant.fingerprint;
  reply.times_ns = time_runs(*variant.executable, std::max(1, request.repeat), target.threads == 1);
  if (request.want_outputs)
    for (const auto& literal : p.run_outputs(variant)) reply.outputs.push_back(to_wire_array(literal));
  if (request.want_inputs)
    for (const auto& literal : p.inputs()) reply.inputs.push_back(to_wire_array(literal));
  if (!request.profile) return reply;
  for (RunSlice& event : profile_runs(*variant.executable, std::max(1, request.repeat))) {
    auto out = std::make_unique<wire::RunEventT>();
    out->name = std::move(event.name);
    out->run = event.run;
    out->thread = event.thread;
    out->start_ns = event.start_ns;
    out->duration_ns = event.duration_ns;
    reply.events.push_back(std::move(out));
  }
  return reply;
}

}  // namespace hone::xla_side
