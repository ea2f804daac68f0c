#include "decisions/lower.h"

#include <chrono>
#include <sstream>

#include "decisions/conv_pool_expander.h"
#include "decisions/layouts.h"
#include "decisions/weights.h"
#include "graph/library_keys.h"
#include "passes/passes.h"
#include "status.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

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
       kProgramLibraryKey,
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

void apply_program_options(xla::DebugOptions& debug, const CompileTarget& target, const Decisions& decisions) {
  for (const Decision& d : decisions) {
    if (d.kind != DecisionKind::Option && !(d.kind == DecisionKind::Library && d.key == kProgramLibraryKey)) continue;
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

// Single reductions: those left to YNNPACK need reductions among its fusion types, and then the others must say no.
void fill_reduce_table(xla::DebugOptions& debug, const Decisions& decisions) {
  SeamTable& table = seam_table();
  for (const Decision& d : decisions) {
    if (!is_reduction(d.kind, d.key)) continue;
    if (d.value != "ynnpack" && d.value != "compiled")
      throw Error("no library '" + d.value + "' for a reduction", d.key, "ynnpack or compiled");
    table.reduce_ynn[d.key] = d.value == "ynnpack";
  }
  if (table.reduce_ynn.empty()) return;
  const auto& types = debug.xla_cpu_experimental_ynn_fusion_type();
  table.reduce_ynn_default =
      std::find(types.begin(), types.end(), xla::DebugOptions::LIBRARY_FUSION_TYPE_REDUCE) != types.end();
  if (!table.reduce_ynn_default)
    debug.add_xla_cpu_experimental_ynn_fusion_type(xla::DebugOptions::LIBRARY_FUSION_TYPE_REDUCE);
}

void strip_tags(xla::HloModule& module) {
  for (auto* computation : module.computations())
    for (auto* instruction : computation->instructions()) {
      if (instruction->metadata().op_type().rfind("@", 0) != 0) continue;
      xla::OpMetadata metadata = instruction->metadata();
      metadata.clear_op_type();
      instruction->set_metadata(metadata);
    }
}

xla::cpu::CpuCompiler& compiler() {
  static auto* instance = new xla::cpu::CpuCompiler;
  return *instance;
}

// Digest of text: two FNV-1a streams, 128 bits in hex.
std::string digest(const std::string& text) {
  uint64_t a = 1469598103934665603ull, b = 0x9ae16a3b2f90404full;
  for (unsigned char c : text) {
    a = (a ^ c) * 1099511628211ull;
    b = (b ^ (c + 0x9eull)) * 0x100000001b3ull + (b >> 29);
  }
  char hex[33];
  snprintf(hex, sizeof hex, "%016llx%016llx", static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
  return hex;
}

// Of the literal's bytes, eight at a time: printing millions of folded weights takes seconds.
std::string content_hash(const xla::Literal& literal) {
  const char* data = static_cast<const char*>(literal.untyped_data());
  const size_t size = literal.size_bytes();
  uint64_t hash = 1469598103934665603ull ^ size;
  for (size_t i = 0; i < size; i += 8) {
    uint64_t word = 0;
    memcpy(&word, data + i, std::min<size_t>(8, size - i));
    hash = (hash ^ word) * 0x9ddfea08eb382d69ull;
    hash ^= hash >> 32;
  }
  return std::to_string(hash) + ",";
}

}  // namespace

void fill_fusion_table(const Decisions& decisions, bool record_edges) {
  SeamTable& table = seam_table();
  table.record_edges = record_edges;
  for (const Decision& d : decisions) {
    if (d.kind == DecisionKind::Fusion) table.fusion[d.key] = d.value == "fuse";
    if (d.kind == DecisionKind::Option && d.key == "fusion_duplication") table.forbid_duplication = d.value == "forbid";
  }
}

Lowered lower(const xla::HloModule& program, const CompileTarget& target, const Decisions& decisions,
              const std::vector<xla::Literal>* inputs, bool record_edges, std::unique_ptr<xla::HloModule>* snapshot) {
  Lowered out;
  auto module = program.Clone("");
  module->set_name(program.name());
  out.storage = weight_storage(*module, target.weights, decisions);
  apply_weight_storage(*module, out.storage, inputs);
  apply_window_decisions(*module, decisions);
  auto& config = module->mutable_config();
  xla::DebugOptions debug = xla::GetDebugOptionsFromFlags();
  apply_program_options(debug, target, decisions);
  SeamScope scope;
  fill_reduce_table(debug, decisions);
  fill_fusion_table(decisions, record_edges);
  seam_table().snapshot = snapshot;
  const LayoutScope layouts(decisions);
  config.set_debug_options(debug);
  config.set_intra_op_parallelism_threads(target.threads);
  for (const Decision& d : decisions)
    if (d.kind == DecisionKind::Option && d.key == "huge_pages") out.huge_pages = d.value == "on";

  const auto start = Clock::now();
  run_pass_decisions(*module, decisions);
  out.module = take(compiler().RunHloPasses(std::move(module), nullptr, {}), "HLO passes");
  layouts.check_all_met();
  out.pass_ms = ms_since(start);
  std::map<std::string, bool> seen;
  for (const FusionEdge& edge : seam_table().edges)
    if (seen.emplace(edge.key, true).second) out.edges.push_back(edge);
  out.reductions = seam_table().reductions;
  // Who asked for the edges finds the names in them again: op_type="@name before fusion". Fingerprints leave metadata out.
  if (!record_edges) strip_tags(*out.module);

  std::unordered_map<std::string, std::string> kernels;
  for (const Decision& d : decisions)
    if (d.kind == DecisionKind::Kernel ||
        (d.kind == DecisionKind::Library && d.key != kProgramLibraryKey && !is_before_kernels(d.kind, d.key)))
      kernels[d.key] = d.value;
  if (!kernels.empty())
    for (auto* kernel : kernels_of(*out.module)) {
      auto it = kernels.find(kernel_fingerprint(*kernel));
      if (it != kernels.end()) annotate(*kernel, it->second);
    }
  return out;
}

void annotate(xla::HloInstruction& kernel, const std::string& value) {
  std::stringstream parts(value);
  std::string part;
  while (std::getline(parts, part, ';')) {
    const size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    const std::string argument = equals == std::string::npos ? "" : part.substr(equals + 1);
    const bool library = kernel.opcode() == xla::HloOpcode::kDot || kernel.opcode() == xla::HloOpcode::kConvolution;
    if (name == "default") continue;
    if (library && (name == "eigen" || name == "llvm" || name == "naive")) {
      kernel.set_frontend_attribute(kLibraryAttribute, name);
    } else if (name == "loop") {
      kernel.set_frontend_attribute(kEmitterAttribute, "loop");
    } else if (name == "tile") {
      kernel.set_frontend_attribute(kEmitterAttribute, "tiled");
      kernel.set_frontend_attribute(kTileAttribute, argument);
    } else if (name == "unroll" || name == "slp" || name == "size" || name == "partitions") {
      auto config = kernel.backend_config<xla::cpu::BackendConfig>();
      xla::cpu::BackendConfig changed = config.ok() ? *config : xla::cpu::BackendConfig();
      if (name == "unroll") changed.mutable_llvm_kernel_options()->set_disable_loop_unrolling(argument == "0");
      if (name == "slp") changed.mutable_llvm_kernel_options()->set_slp_vectorizer_disabled(argument == "0");
      if (name == "size") changed.mutable_llvm_kernel_options()->set_optimize_for_size(argument == "1");
      if (name == "partitions") {
        changed.clear_outer_dimension_partitions();
        if (std::atoi(argument.c_str()) > 1) changed.add_outer_dimension_partitions(std::atoi(argument.c_str()));
      }
      check(kernel.set_backend_config(changed), "kernel option");
    } else {
      throw Error("kernel decision '" + value + "' does not fit " + std::string(xla::HloOpcodeString(kernel.opcode())));
    }
  }
}

std::vector<xla::HloInstruction*> kernels_of(xla::HloModule& module) {
  std::vector<xla::HloInstruction*> kernels;
  for (auto* computation : module.MakeNonfusionComputations())
    for (auto* instruction : computation->instructions())
      if (instruction->opcode() == xla::HloOpcode::kFusion || instruction->opcode() == xla::HloOpcode::kDot ||
          instruction->opcode() == xla::HloOpcode::kConvolution)
        kernels.push_back(instruction);
  return kernels;
}

namespace {

std::string fingerprint(const xla::HloInstruction& kernel, bool with_name) {
  auto print = xla::HloPrintOptions::Canonical().set_include_layout_in_shapes(true).set_print_metadata(false);
  std::string text = kernel.shape().ToString(true);
  for (const auto* operand : kernel.operands()) text += "," + operand->shape().ToString(true);
  if (kernel.opcode() == xla::HloOpcode::kFusion) {
    text += xla::ToString(kernel.fusion_kind()).data();
    const std::string computation = kernel.fused_instructions_computation()->ToString(print);
    text += with_name ? computation : computation.substr(computation.find('{'));
  } else {
    auto clone = kernel.Clone();  // without names of neighbours
    clone->set_frontend_attributes({});
    text += std::string(xla::HloOpcodeString(kernel.opcode()));
    for (const std::string& extra : clone->ExtraAttributesToString(print)) text += "," + extra;
  }
  auto config = kernel.backend_config<xla::cpu::BackendConfig>();
  if (config.ok()) text += config->SerializeAsString();  // never DebugString: it differs from process to process
  return digest(text);
}

}  // namespace

std::string kernel_fingerprint(const xla::HloInstruction& kernel) { return fingerprint(kernel, /*with_name=*/true); }
std::string content_fingerprint(const xla::HloInstruction& kernel) { return fingerprint(kernel, /*with_name=*/false); }

std::string module_fingerprint(const xla::HloModule& module) {
  std::string text = module.ToString(xla::HloPrintOptions::Canonical()
                                         .set_include_layout_in_shapes(true)
                                         .set_print_metadata(false)
                                         .set_print_large_constants(false));
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions())
      if (instruction->opcode() == xla::HloOpcode::kConstant && instruction->shape().IsArray())
        text += content_hash(instruction->literal());
  return digest(text);
}

std::unique_ptr<xla::cpu::CpuExecutable> generate(std::unique_ptr<xla::HloModule> module, int threads) {
  module->mutable_config().set_intra_op_parallelism_threads(threads);
  SeamScope scope;
  for (auto* kernel : kernels_of(*module)) {
    if (kernel->opcode() != xla::HloOpcode::kDot) continue;
    const auto& attributes = kernel->frontend_attributes().map();
    auto it = attributes.find(kLibraryAttribute);
    if (it != attributes.end())
      seam_table().dot_library[dot_shape_key(kernel->dot_dimension_numbers(), kernel->operand(0)->shape(),
                                             kernel->operand(1)->shape())] = it->second;
  }
  auto executable = take(compiler().RunBackend(std::move(module), nullptr, {}), "code generation");
  return std::unique_ptr<xla::cpu::CpuExecutable>(static_cast<xla::cpu::CpuExecutable*>(executable.release()));
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
  for (const auto& [key, operations] : window_operations(program))
    dimensions.push_back({DecisionKind::Library, key, {"default", kShifted}, 0, operations});
  return dimensions;
}

}  // namespace hone::xla_side
