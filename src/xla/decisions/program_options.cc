#include "decisions/program_options.h"

#include "base/isa.h"
#include "decisions/operation_rewrites.h"
#include "decisions/seam_state.h"
#include "graph/decision_family.h"
#include "graph/packed_weights.h"
#include "status.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

// Program options, each with XLA's own setting first.
struct ProgramOption {
  DecisionKind kind;
  const char* key;
  OptionReader first_reader;
  std::vector<std::string> values;
  bool needs_fast_math;
  void (*apply)(xla::DebugOptions&, const std::string& value);  // any value but the first
};

void set_extra(xla::DebugOptions& debug, const char* name) {
  (*debug.mutable_xla_backend_extra_options())[name] = "true";
}

void set_fast_math(xla::DebugOptions& debug) {
  debug.set_xla_cpu_enable_fast_math(true);
  debug.set_xla_cpu_fast_math_honor_nans(false);
  debug.set_xla_cpu_fast_math_honor_infs(false);
  debug.set_xla_cpu_fast_math_honor_division(false);
  debug.set_xla_cpu_fast_math_honor_functions(false);
}

// Which operations YNNPACK computes; all others are Eigen's or compiled.
void set_libraries(xla::DebugOptions& debug, const std::string& value) {
  using D = xla::DebugOptions;
  debug.clear_xla_cpu_experimental_ynn_fusion_type();
  if (value == "eigen") return;
  debug.add_xla_cpu_experimental_ynn_fusion_type(D::LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT);
  if (value == "ynn-dot") return;
  debug.add_xla_cpu_experimental_ynn_fusion_type(D::LIBRARY_FUSION_TYPE_INDIVIDUAL_CONVOLUTION);
  if (value == "ynn-dot-conv") return;
  debug.add_xla_cpu_experimental_ynn_fusion_type(D::LIBRARY_FUSION_TYPE_REDUCE);
}

const std::vector<ProgramOption>& program_options() {
  static const std::vector<ProgramOption> options = {
#define PROGRAM_OPTION(key, reader, needs_fast_math, effect, ...) \
  {DecisionKind::Option, key,                                     \
   OptionReader::reader, {__VA_ARGS__},                           \
   needs_fast_math,      [](xla::DebugOptions& debug, const std::string& value) { \
     effect; }},
#include "decisions/program_options.def"
#undef PROGRAM_OPTION
      {DecisionKind::Library,
       family(FamilyId::ProgramLibrary).prefix,
       OptionReader::Passes,
       {"default", "eigen", "ynn-dot", "ynn-dot-conv", "ynn-dot-conv-reduce"},
       false,
       set_libraries}};
  return options;
}

}  // namespace

int threads_of(const std::string& value, int threads) {
  return value == "1" ? 1 : value == "half" ? std::max(1, threads / 2) : threads;
}

OptionReader first_reader(const Decision& decision) {
  for (const ProgramOption& option : program_options())
    if (option.kind == decision.kind && option.key == decision.key) return option.first_reader;
  return OptionReader::Passes;
}

xla::DebugOptions debug_options_of(const CompileTarget& target) {
  xla::DebugOptions debug = xla::GetDebugOptionsFromFlags();
  if (!target.max_isa.empty()) debug.set_xla_cpu_max_isa(xla_isa_name(target.max_isa));
  return debug;
}

void apply_program_options(xla::DebugOptions& debug, const CompileTarget& target, const Decisions& decisions) {
  for (const Decision& d : decisions) {
    bool known = false;
    for (const ProgramOption& option : program_options()) {
      if (option.kind != d.kind || option.key != d.key) continue;
      known = std::find(option.values.begin(), option.values.end(), d.value) != option.values.end();
      if (option.needs_fast_math && !target.allow_fast_math && d.value != option.values[0])
        throw Error("option " + d.key + " changes numerics", "", "allow it with --allow-fast-math");
      if (known && d.value != option.values[0]) option.apply(debug, d.value);
    }
    if (!known) throw Error("no option " + d.key + " = " + d.value);
  }
}

std::vector<Dimension> program_dimensions(const xla::HloModule& program, const CompileTarget& target) {
  std::vector<Dimension> dimensions;
  if (!target.weights.empty()) {
    const bool packs = seam_on("ynn-thunk");
    Dimension all{DecisionKind::Weights, "all", {"as-is", "transposed", "constant"}, 0, 0};
    if (packs) all.options.push_back(kPackedWeights);
    dimensions.push_back(std::move(all));
    for (int number : target.weights) {
      if (number < 0 || number >= program.entry_computation()->num_parameters())
        throw Error("there is no parameter " + std::to_string(number), "--weights",
                    "the program has " + std::to_string(program.entry_computation()->num_parameters()) + " parameters");
      const auto& shape = program.entry_computation()->parameter_instruction(number)->shape();
      if (!shape.IsArray()) throw Error("parameter " + std::to_string(number) + " is a tuple", "--weights");
      Dimension dimension{DecisionKind::Weights, std::to_string(number), {"as-is"}, 0, 0};
      if (shape.dimensions().size() == 2) dimension.options.push_back("transposed");
      dimension.options.push_back("constant");
      if (packs && (shape.dimensions().size() == 2 || shape.dimensions().size() == 3))
        dimension.options.push_back(kPackedWeights);
      if (xla::ShapeUtil::ElementsIn(shape) > 4096) dimensions.push_back(dimension);
    }
  }
  for (const ProgramOption& option : program_options()) {
    if (option.needs_fast_math && !target.allow_fast_math) continue;
    Dimension dimension{option.kind, option.key, option.values, 0, 0};
    if (option.key == std::string(kIntraOpThreads)) {
      if (target.threads == 1) continue;
      if (threads_of("half", target.threads) == 1) std::erase(dimension.options, "half");
    }
    if (option.key == std::string(kWaitPolicy) && target.threads == 1) continue;
    dimensions.push_back(std::move(dimension));
  }
  for (const auto& [key, operation] : rewritable_operations(program)) {
    Dimension dimension{DecisionKind::Rewrite, key, {kNotRewritten}, 0, operation.operations, operation.count};
    dimension.options.insert(dimension.options.end(), operation.values.begin(), operation.values.end());
    const std::vector<int> behind(operation.parameters.begin(), operation.parameters.end());
    const bool declared = std::all_of(behind.begin(), behind.end(), [&](int number) {
      return std::find(target.weights.begin(), target.weights.end(), number) != target.weights.end();
    });
    if (operation.of_parameters && declared) dimension.weights = behind;
    dimensions.push_back(std::move(dimension));
  }
  return dimensions;
}

}  // namespace hone::xla_side
