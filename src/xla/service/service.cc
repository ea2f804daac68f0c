#include "service/service.h"

#include <fstream>
#include <thread>
#include <unordered_set>

#include "decisions/fingerprints.h"
#include "decisions/kernels.h"
#include "decisions/layout_listing.h"
#include "decisions/program_options.h"
#include "decisions/seam_state.h"
#include "graph/decision_family.h"
#include "measure/inputs.h"
#include "measure/profile.h"
#include "measure/program.h"
#include "passes/pass_states.h"
#include "service/load.h"
#include "service/to_wire.h"
#include "status.h"
#include "wire/client.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/service/hlo_cost_analysis.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

constexpr char kXlaVersion[] = "tensorflow-cpu 2.21.0";
constexpr int64_t kKernelInputLimit = int64_t{2} << 30;
constexpr int kMaxTiles = 96;            // listed of one kernel
constexpr double kEvaluatorFlops = 2e7;  // HloEvaluator runs at about 10 MFLOP/s
constexpr double kSlowRunMs = 500;       // a run whose repeats are counted

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * 4096;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line))
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown CPU";
}

CompileTarget target_of(const std::unique_ptr<wire::TargetT>& target) {
  CompileTarget out;
  if (target == nullptr) return out;
  out.threads = std::max(1, target->threads);
  out.allow_fast_math = target->allow_fast_math;
  out.weights.assign(target->weights.begin(), target->weights.end());
  return out;
}
uint64_t seed_of(const std::unique_ptr<wire::TargetT>& target) { return target ? target->seed : 0; }

std::unique_ptr<wire::ArrayT> to_array(const xla::Literal& literal, const xla::ShapeIndex& index = {}) {
  auto array = std::make_unique<wire::ArrayT>();
  const auto& shape = xla::ShapeUtil::GetSubshape(literal.shape(), index);
  array->type = xla::primitive_util::LowercasePrimitiveTypeName(shape.element_type());
  array->dims.assign(shape.dimensions().begin(), shape.dimensions().end());
  const auto* data = static_cast<const uint8_t*>(literal.untyped_data(index));
  array->data.assign(data, data + literal.size_bytes(index));
  return array;
}

xla::Literal to_literal(const wire::ArrayT& array, size_t number) {
  auto type = take(xla::primitive_util::StringToPrimitiveType(array.type), "input " + std::to_string(number), true);
  xla::Literal literal(xla::ShapeUtil::MakeShapeWithDescendingLayout(type, array.dims));
  if (literal.size_bytes() != static_cast<int64_t>(array.data.size()))
    throw Error("input " + std::to_string(number) + " has " + std::to_string(array.data.size()) +
                " bytes, its shape needs " + std::to_string(literal.size_bytes()));
  memcpy(literal.untyped_data(), array.data.data(), array.data.size());
  return literal;
}

template <class Counts>
void count_opcodes(const xla::HloModule& module, Counts& counts) {
  std::map<std::string, int64_t> by_opcode;
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions())
      ++by_opcode[std::string(xla::HloOpcodeString(instruction->opcode()))];
  for (auto& [name, count] : by_opcode) {
    auto entry = std::make_unique<wire::CountT>();
    entry->name = name;
    entry->count = count;
    counts.push_back(std::move(entry));
  }
}

// A kernel on its own: default executable, its inputs and outputs.
struct KernelBench {
  std::string hlo;
  std::vector<xla::Literal> inputs, reference;
  std::unique_ptr<Executable> baseline;
  double compile_ms = 0;
};

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
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
                                           const CompileTarget& target) {
  auto module = kernel_module(hlo);
  auto* root = module->entry_computation()->root_instruction();
  if (root->opcode() == xla::HloOpcode::kFusion && target.threads == 1) {
    auto config = root->backend_config<xla::cpu::BackendConfig>();
    if (config.ok()) {
      config->clear_outer_dimension_partitions();
      check(root->set_backend_config(*config), "kernel");
    }
  }
  if (!value.empty()) annotate(*root, value);
  return std::make_unique<Executable>(generate(std::move(module), target.threads), target.threads, false);
}

void fill_verdict(const Comparison& verdict, wire::MeasureReplyT& reply) {
  reply.verified = verdict.equal && verdict.informative;
  reply.max_error = std::isfinite(verdict.max_error) ? verdict.max_error : 1e300;
  reply.note = verdict.note;
  if (!verdict.equal && reply.note.empty()) reply.note = "outputs differ";
}

void run_duel(Executable& baseline, Executable& candidate, const wire::MeasureRequestT& request, int threads, bool warm,
              wire::MeasureReplyT& reply) {
  DuelOptions options;
  options.warm = warm;
  options.min_rounds = request.min_rounds;
  options.max_rounds = std::max(request.max_rounds, request.min_rounds);
  options.budget_ms = request.budget_ms;
  options.precision = request.precision;
  options.abandon_ratio = request.abandon_ratio;
  options.cpu_time = threads == 1;
  const DuelResult result = duel(baseline, candidate, options);
  reply.baseline_ns = result.baseline_ns;
  reply.candidate_ns = result.candidate_ns;
  reply.ratio = result.ratio;
  reply.ratio_low = result.ratio_low;
  reply.ratio_high = result.ratio_high;
  reply.rounds = result.rounds;
}

}  // namespace

struct Service::State {
  std::map<std::string, std::unique_ptr<Program>> programs;
  std::list<KernelBench> kernels;                                // most recent first, at most 3
  std::map<std::string, PassStates> states;                      // of programs passes are run on
  std::map<std::tuple<int, int, bool>, KernelMemory> described;  // kernels by threads, most tiles, with protos or not
  std::map<int, std::unordered_set<std::string>> told;           // content of kernels the other side knows, by threads

  Program& program(const std::string& key) {
    auto it = programs.find(key);
    if (it == programs.end()) throw Error("program " + key + " is not loaded");
    return *it->second;
  }

  KernelBench& kernel(const wire::MeasureRequestT& request, const CompileTarget& target) {
    const std::string key = std::to_string(target.threads) + request.kernel_hlo;
    for (auto it = kernels.begin(); it != kernels.end(); ++it)
      if (it->hlo == key) {
        kernels.splice(kernels.begin(), kernels, it);
        return kernels.front();
      }
    KernelBench bench;
    bench.hlo = key;
    const auto start = std::chrono::steady_clock::now();
    bench.baseline = compile_kernel(request.kernel_hlo, "", target);
    bench.compile_ms = ms_since(start);
    const auto module = kernel_module(request.kernel_hlo);
    for (uint64_t attempt = 0; attempt < 3; ++attempt) {
      bench.inputs = generate_inputs(*module, seed_of(request.target) + attempt * 7919, kKernelInputLimit);
      bind_all(*bench.baseline, bench.inputs);
      bench.reference = outputs_of(*bench.baseline);
      if (compare(bench.reference, bench.reference).informative) break;
    }
    kernels.push_front(std::move(bench));
    while (kernels.size() > 3) kernels.pop_back();
    return kernels.front();
  }

  wire::HelloReplyT hello();
  wire::LoadReplyT load(const wire::LoadRequestT& request);
  wire::InputsReplyT inputs(const wire::InputsRequestT& request);
  wire::LowerReplyT lower(const wire::LowerRequestT& request);
  wire::LowerReplyT list_kernels(Program& program, const CompileTarget& target, const Decisions& decisions);
  wire::MeasureReplyT measure(const wire::MeasureRequestT& request);
  wire::MeasureReplyT measure_kernel(const wire::MeasureRequestT& request);
  void check_evaluator(Program& program, const std::vector<xla::Literal>& reference,
                       const std::vector<xla::Literal>& outputs, wire::MeasureReplyT& reply);
  wire::RunReplyT run(const wire::RunRequestT& request);
  wire::ApplyReplyT apply(const wire::ApplyRequestT& request) {
    return states.try_emplace(request.program, program(request.program).module()).first->second.apply(request);
  }
};

wire::LoadReplyT Service::State::load(const wire::LoadRequestT& request) {
  LoadedModule loaded = load_module(std::string(request.bytes.begin(), request.bytes.end()), request.name);
  wire::LoadReplyT reply;
  reply.format = loaded.format;
  reply.name = loaded.module->name();
  reply.program = module_fingerprint(*loaded.module);
  reply.instructions = loaded.module->instruction_count();
  count_opcodes(*loaded.module, reply.opcodes);
  xla::HloCostAnalysis cost([](const xla::Shape& shape) { return xla::ShapeUtil::ByteSizeOf(shape, 8); });
  if (loaded.module->entry_computation()->Accept(&cost).ok()) {
    reply.flops = std::max(0.0f, cost.flop_count());
    reply.transcendentals = std::max(0.0f, cost.transcendental_count());
    reply.bytes_accessed = std::max(0.0f, cost.bytes_accessed());
  }
  const auto* entry = loaded.module->entry_computation();
  for (const auto* p : entry->parameter_instructions())
    reply.parameters.push_back(xla::ShapeUtil::HumanString(p->shape()));
  const xla::Shape& result = entry->root_instruction()->shape();
  if (!result.IsTuple())
    reply.results.push_back(xla::ShapeUtil::HumanString(result));
  else
    for (const auto& sub : result.tuple_shapes()) reply.results.push_back(xla::ShapeUtil::HumanString(sub));
  loaded.module->input_output_alias_config().ForEachAlias(
      [&](const xla::ShapeIndex&, const xla::HloInputOutputAliasConfig::Alias& alias) {
        reply.donated.push_back(alias.parameter_number);
      });
  const std::string proto = loaded.module->ToProto().SerializeAsString();
  reply.module_proto.assign(proto.begin(), proto.end());
  auto& slot = programs[reply.program];
  if (!slot) slot = std::make_unique<Program>(std::move(loaded.module));
  if (!loaded.inputs.empty()) {
    for (const auto& literal : loaded.inputs)
      if (literal.shape().IsArray()) reply.snapshot_inputs.push_back(to_array(literal));
    if (!slot->inputs_given()) slot->set_inputs(std::move(loaded.inputs));
  }
  return reply;
}

wire::InputsReplyT Service::State::inputs(const wire::InputsRequestT& request) {
  wire::InputsReplyT reply;
  reply.generated = request.inputs.empty();
  if (reply.generated) return reply;
  std::vector<xla::Literal> literals;
  for (size_t i = 0; i < request.inputs.size(); ++i) literals.push_back(to_literal(*request.inputs[i], i));
  program(request.program).set_inputs(std::move(literals));
  return reply;
}

// The program as it is when layouts are assigned, and what there is to decide.
static wire::LowerReplyT list_layouts(const Program& program, const CompileTarget& target, Decisions decisions) {
  // What comes before layouts: other decisions about them, or about what is made of the module later, play no part.
  decisions.erase(std::remove_if(decisions.begin(), decisions.end(),
                                 [](const Decision& d) { return d.kind != DecisionKind::Passes; }),
                  decisions.end());
  const LayoutSpace space = layout_space(program.module(), target, decisions);
  wire::LowerReplyT reply;
  reply.module_proto.assign(space.module_proto.begin(), space.module_proto.end());
  for (const Dimension& dimension : space.dimensions) reply.dimensions.push_back(to_wire_dimension(dimension));
  return reply;
}

// For whoever asks for many programs that differ in fusion: kernels by their content, described once in this process.
wire::LowerReplyT Service::State::list_kernels(Program& program, const CompileTarget& target,
                                               const Decisions& decisions) {
  const auto start = std::chrono::steady_clock::now();
  const FusedKernels fused = program.kernels_under(target, decisions);
  wire::LowerReplyT reply;
  reply.instructions = fused.instructions;
  std::unordered_set<std::string>& known = told[target.threads];
  for (const auto& [fingerprint, counted] : fused.kernels) {
    std::unique_ptr<wire::KernelT> kernel;
    if (counted.first && known.insert(fingerprint).second)  // those recalled were described when first met
      kernel = to_wire_kernel(
          describe_kernel(*counted.first, fingerprint, target.threads, /*max_tiles=*/0, /*want_proto=*/true));
    else
      kernel = std::make_unique<wire::KernelT>();
    kernel->fingerprint = fingerprint;
    if (counted.first) kernel->name = std::string(counted.first->name());
    kernel->count = counted.count;
    reply.kernels.push_back(std::move(kernel));
  }
  reply.pass_ms = ms_since(start);
  return reply;
}

wire::LowerReplyT Service::State::lower(const wire::LowerRequestT& request) {
  Program& p = program(request.program);
  const CompileTarget target = target_of(request.target);
  const Decisions decisions = wire::from_wire(request.decisions);
  for (const Decision& d : decisions)
    if (d.kind == DecisionKind::Weights && d.value == "constant") p.prepare_inputs(seed_of(request.target), target);
  if (std::find(decisions.begin(), decisions.end(), kListLayouts) != decisions.end())
    return list_layouts(p, target, decisions);
  if (!request.want_hlo && !request.want_fusion && request.want_kernels) return list_kernels(p, target, decisions);
  Lowered lowered = p.lower_with(target, decisions, request.want_fusion);
  wire::LowerReplyT reply;
  reply.fingerprint = module_fingerprint(*lowered.module);
  reply.instructions = lowered.module->instruction_count();
  reply.pass_ms = lowered.pass_ms;
  count_opcodes(*lowered.module, reply.opcodes);
  if (request.want_hlo) {
    reply.hlo = lowered.module->ToString();
    const std::string proto = lowered.module->ToProto().SerializeAsString();
    reply.module_proto.assign(proto.begin(), proto.end());
  }
  for (const Dimension& dimension : program_dimensions(p.module(), target))
    reply.dimensions.push_back(to_wire_dimension(dimension));
  for (const auto& [key, reduction] : lowered.reductions)
    reply.dimensions.push_back(to_wire_dimension({DecisionKind::Library,
                                                  key,
                                                  {kCompiledReduction, kYnnpackReduction},
                                                  reduction.default_ynn ? 1 : 0,
                                                  reduction.bytes}));
  if (seam_on("fusion"))
    for (const FusionEdge& edge : lowered.edges)
      reply.dimensions.push_back(
          to_wire_dimension({DecisionKind::Fusion, edge.key, {"keep", "fuse"}, edge.default_fuse, 0}));
  if (!request.want_kernels) return reply;
  const int max_tiles = kMaxTiles;
  KernelMemory& memory = described[{target.threads, max_tiles, request.want_protos}];
  for (KernelInfo& kernel :
       distinct_kernels(*lowered.module, target.threads, max_tiles, request.want_protos, &memory)) {
    reply.kernels.push_back(to_wire_kernel(std::move(kernel)));
  }
  return reply;
}

wire::MeasureReplyT Service::State::measure_kernel(const wire::MeasureRequestT& request) {
  const CompileTarget target = target_of(request.target);
  KernelBench& bench = kernel(request, target);
  wire::MeasureReplyT reply;
  reply.baseline_compile_ms = bench.compile_ms;
  const auto start = std::chrono::steady_clock::now();
  auto candidate = compile_kernel(request.kernel_hlo, request.kernel_value, target);
  reply.compile_ms = ms_since(start);
  bind_all(*candidate, bench.inputs);
  fill_verdict(compare(bench.reference, outputs_of(*candidate)), reply);
  if (reply.verified) run_duel(*bench.baseline, *candidate, request, target.threads, /*warm=*/false, reply);
  reply.rss_bytes = resident_bytes();
  return reply;
}

void Service::State::check_evaluator(Program& program, const std::vector<xla::Literal>& reference,
                                     const std::vector<xla::Literal>& outputs, wire::MeasureReplyT& reply) {
  xla::HloCostAnalysis cost([](const xla::Shape& shape) { return xla::ShapeUtil::ByteSizeOf(shape, 8); });
  if (!program.module().entry_computation()->Accept(&cost).ok() || cost.flop_count() > kEvaluatorFlops) return;
  std::vector<const xla::Literal*> arguments;
  for (const auto& literal : program.inputs()) arguments.push_back(&literal);
  xla::HloEvaluator evaluator(/*max_loop_iterations=*/10000);
  auto clone = program.module().Clone("");
  auto result = evaluator.Evaluate(*clone, arguments);
  if (!result.ok()) return;
  std::vector<xla::Literal> expected;
  xla::ShapeUtil::ForEachSubshape(result->shape(), [&](const xla::Shape& sub, const xla::ShapeIndex& index) {
    if (!sub.IsArray()) return;
    xla::Literal leaf(xla::ShapeUtil::MakeShapeWithDescendingLayout(sub.element_type(), sub.dimensions()));
    check(leaf.CopyFrom(*result, {}, index), "evaluator");
    expected.push_back(std::move(leaf));
  });
  // The interpreter sums in another order and rounds on its own. Where default XLA is as far from it, it proves nothing.
  constexpr double kInterpreterTolerance = 16;
  if (compare(expected, reference).max_error > kInterpreterTolerance) return;
  reply.evaluator_checked = true;
  if (compare(expected, outputs).max_error > kInterpreterTolerance) {
    reply.verified = false;
    reply.note = "outputs differ from the HLO interpreter's";
  }
}

wire::MeasureReplyT Service::State::measure(const wire::MeasureRequestT& request) {
  if (!request.kernel_hlo.empty()) return measure_kernel(request);
  Program& p = program(request.program);
  const CompileTarget target = target_of(request.target);
  p.prepare_inputs(seed_of(request.target), target);
  const auto& reference = p.reference(target);
  wire::MeasureReplyT reply;
  Variant& baseline = p.variant(target, wire::from_wire(request.baseline));
  reply.baseline_compile_ms = baseline.compile_ms;
  bool cached = false;
  const Decisions decisions = wire::from_wire(request.decisions);
  Variant& candidate = p.variant(target, decisions, &cached);
  reply.cached = cached;
  reply.compile_ms = candidate.compile_ms;
  reply.fingerprint = candidate.fingerprint;
  // Runs of seconds are few: default XLA's own outputs are the reference's, and what has run is warm.
  std::vector<xla::Literal> run;
  const bool known = decisions.empty() && candidate.run_ms > kSlowRunMs;
  if (!known) run = p.run_outputs(candidate);
  const std::vector<xla::Literal>& outputs = known ? reference : run;
  const bool warm = std::max(baseline.run_ms, candidate.run_ms) > kSlowRunMs;
  fill_verdict(compare(reference, outputs), reply);
  if (reply.verified && request.check_evaluator) check_evaluator(p, reference, outputs, reply);
  if (request.want_outputs)
    for (const auto& literal : outputs) reply.outputs.push_back(to_array(literal));
  if (reply.verified || decisions.empty())
    run_duel(*baseline.executable, *candidate.executable, request, target.threads, warm, reply);
  reply.rss_bytes = resident_bytes();
  return reply;
}

wire::RunReplyT Service::State::run(const wire::RunRequestT& request) {
  Program& p = program(request.program);
  const CompileTarget target = target_of(request.target);
  p.prepare_inputs(seed_of(request.target), target);
  Variant& variant = p.variant(target, wire::from_wire(request.decisions));
  wire::RunReplyT reply;
  reply.fingerprint = variant.fingerprint;
  reply.times_ns = time_runs(*variant.executable, std::max(1, request.repeat), target.threads == 1);
  if (request.want_outputs)
    for (const auto& literal : p.run_outputs(variant)) reply.outputs.push_back(to_array(literal));
  if (!request.profile) return reply;
  for (ProfileEvent& event : profile_runs(*variant.executable, std::max(1, request.repeat))) {
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

wire::HelloReplyT Service::State::hello() {
  wire::HelloReplyT reply;
  reply.xla_version = kXlaVersion;
  reply.cpu = cpu_name();
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

Service::Service() : state_(std::make_unique<State>()) {}
Service::~Service() = default;

wire::ReplyT Service::handle(const wire::RequestT& request) {
  wire::ReplyT reply;
  reply.id = request.id;
  auto fail = [&](int code, const std::string& message, const std::string& where, const std::string& hint) {
    reply.failure = std::make_unique<wire::FailureT>();
    reply.failure->code = code;
    reply.failure->message = message;
    reply.failure->where = where;
    reply.failure->hint = hint;
  };
  try {
    const auto& body = request.body;
    if (auto* r = body.AsHelloRequest())
      reply.body.Set(state_->hello());
    else if (auto* r = body.AsLoadRequest())
      reply.body.Set(state_->load(*r));
    else if (auto* r = body.AsInputsRequest())
      reply.body.Set(state_->inputs(*r));
    else if (auto* r = body.AsLowerRequest())
      reply.body.Set(state_->lower(*r));
    else if (auto* r = body.AsMeasureRequest())
      reply.body.Set(state_->measure(*r));
    else if (auto* r = body.AsRunRequest())
      reply.body.Set(state_->run(*r));
    else if (body.AsPassesRequest())
      reply.body.Set(list_passes());
    else if (auto* r = body.AsApplyRequest())
      reply.body.Set(state_->apply(*r));
    else
      fail(1, "unknown request", "", "");
  } catch (const RunError& e) {
    fail(1, e.what(), e.where(), e.hint());
  } catch (const Error& e) {
    fail(2, e.what(), e.where(), e.hint());
  } catch (const std::exception& e) {
    fail(1, e.what(), "", "");
  }
  return reply;
}

}  // namespace hone::xla_side
