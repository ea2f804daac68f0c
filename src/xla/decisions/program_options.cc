#include "decisions/program_options.h"

#include "decisions/conv_pool_expander.h"
#include "graph/decision_family.h"
#include "status.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

// Program options, each with XLA's own setting first.
struct ProgramOption {
  DecisionKind kind;
  const char* key;
  std::vector<std::string> values;
  bool needs_fast_math;
  void (*apply)(xla::DebugOptions&, const std::string& value);
};

void set_extra(xla::DebugOptions& options, const char* name, const std::string& value = "true") {
  (*options.mutable_xla_backend_extra_options())[name] = value;
}

void set_ynn_types(xla::DebugOptions& options, std::initializer_list<int> types) {
  options.clear_xla_cpu_experimental_ynn_fusion_type();
  for (int type : types)
    options.add_xla_cpu_experimental_ynn_fusion_type(static_cast<xla::DebugOptions::LibraryFusionType>(type));
}

const std::vector<ProgramOption>& program_options() {
  using D = xla::DebugOptions;
  static const std::vector<ProgramOption> options = {
      {DecisionKind::Option,
       "multi_output_fusion",
       {"off", "on"},
       false,
       [](D& d, const std::string& v) {
         if (v == "on") set_extra(d, "xla_cpu_use_multi_output_fusion");
       }},
      {DecisionKind::Option, "fusion_duplication", {"allow", "forbid"}, false, [](D&, const std::string&) {}},
      {DecisionKind::Option,
       "vector_width",
       {"default", "512", "128"},
       false,
       [](D& d, const std::string& v) { d.set_xla_cpu_prefer_vector_width(std::atoi(v.c_str())); }},
      {DecisionKind::Option, "huge_pages", {"off", "on"}, false, [](D&, const std::string&) {}},
      {DecisionKind::Option,
       "tiled_emitter",
       {"on", "off"},
       false,
       [](D& d, const std::string& v) {
         if (v == "off") set_extra(d, "xla_cpu_disable_tiled_emitter");
       }},
      {DecisionKind::Option,
       "loop_unrolling",
       {"on", "off"},
       false,
       [](D& d, const std::string& v) {
         if (v == "off") set_extra(d, "xla_cpu_disable_loop_unrolling");
       }},
      {DecisionKind::Option,
       "slp_vectorizer",
       {"on", "off"},
       false,
       [](D& d, const std::string& v) {
         if (v == "off") set_extra(d, "xla_cpu_disable_slp_vectorizer");
       }},
      {DecisionKind::Option,
       "fast_math",
       {"off", "on"},
       true,
       [](D& d, const std::string& v) {
         if (v != "on") return;
         d.set_xla_cpu_enable_fast_math(true);
         d.set_xla_cpu_fast_math_honor_nans(false);
         d.set_xla_cpu_fast_math_honor_infs(false);
         d.set_xla_cpu_fast_math_honor_division(false);
         d.set_xla_cpu_fast_math_honor_functions(false);
       }},
      {DecisionKind::Library,
       family(FamilyId::ProgramLibrary).prefix,
       {"default", "eigen", "ynn-dot", "ynn-dot-conv", "ynn-dot-conv-reduce"},
       false,
       [](D& d, const std::string& v) {
         if (v == "eigen") set_ynn_types(d, {});
         if (v == "ynn-dot") set_ynn_types(d, {4});
         if (v == "ynn-dot-conv") set_ynn_types(d, {4, 5});
         if (v == "ynn-dot-conv-reduce") set_ynn_types(d, {4, 5, 3});
       }},
  };
  return options;
}

}  // namespace

void apply_program_options(xla::DebugOptions& debug, const CompileTarget& target, const Decisions& decisions) {
  for (const Decision& d : decisions) {
    if (d.kind != DecisionKind::Option && !belongs_to(FamilyId::ProgramLibrary, d.kind, d.key)) continue;
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
    dimensions.push_back({DecisionKind::Weights, "all", {"as-is", "transposed", "constant"}, 0, 0});
    for (int number : target.weights) {
      if (number < 0 || number >= program.entry_computation()->num_parameters())
        throw Error("there is no parameter " + std::to_string(number), "--weights",
                    "the program has " + std::to_string(program.entry_computation()->num_parameters()) + " parameters");
      const auto& shape = program.entry_computation()->parameter_instruction(number)->shape();
      if (!shape.IsArray()) throw Error("parameter " + std::to_string(number) + " is a tuple", "--weights");
      Dimension dimension{DecisionKind::Weights, std::to_string(number), {"as-is"}, 0, 0};
      if (shape.dimensions().size() == 2) dimension.options.push_back("transposed");
      dimension.options.push_back("constant");
      if (xla::ShapeUtil::ElementsIn(shape) > 4096) dimensions.push_back(dimension);
    }
  }
  for (const ProgramOption& option : program_options()) {
    if (option.needs_fast_math && !target.allow_fast_math) continue;
    dimensions.push_back({option.kind, option.key, option.values, 0, 0});
  }
  for (const auto& [key, operations] : expandable_operations(program))
    dimensions.push_back({DecisionKind::Rewrite, key, {kNotRewritten, kShifted}, 0, operations});
  return dimensions;
}

}  // namespace hone::xla_side
