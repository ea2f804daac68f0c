// What a kernel's code depends on, as text and as a key.
#include <dlfcn.h>
#include <sys/stat.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "decisions/code_cache.h"
#include "decisions/seam_state.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "xla/backends/cpu/codegen/fusion_emitter.h"
#include "xla/codegen/emitters/kernel_arguments.h"
#include "xla/debug_options_flags.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

// Which build of a library or program: its path, size and time.
std::string file_of(const void* symbol) {
  Dl_info info{};
  struct stat file{};
  if (dladdr(symbol, &info) == 0 || info.dli_fname == nullptr || stat(info.dli_fname, &file) != 0) return "";
  return absl::StrCat(info.dli_fname, ":", file.st_size, ":", file.st_mtim.tv_sec, ".", file.st_mtim.tv_nsec, "\n");
}

// The processor, as LLVM asks for it: its model and what it can do.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string line, text;
  while (std::getline(file, line) && !line.empty())
    for (const char* name : {"vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU part"})
      if (line.rfind(name, 0) == 0) text += line + "\n";
  return text;
}

// Of this process: the same for all its compilations.
const std::string& builds_and_processor() {
  static const std::string text = [] {
    const std::string xla = file_of(dlsym(RTLD_NEXT, "_ZN3xla3cpu10IrCompilerclERN4llvm6ModuleE"));
    const std::string own = file_of(reinterpret_cast<const void*>(&code_table));
    const std::string cpu = processor();
    return xla.empty() || own.empty() || cpu.empty() ? "" : absl::StrCat("code 1\n", xla, own, cpu);
  }();
  return text;
}

// Text that is unambiguous when put together with more.
void append(std::string& text, absl::string_view part) { absl::StrAppend(&text, part.size(), ":", part, ";"); }

void append_constants(std::string& text, const xla::HloComputation& computation) {
  for (const auto* instruction : computation.MakeInstructionPostOrder()) {
    if (instruction->opcode() == xla::HloOpcode::kConstant && instruction->shape().IsArray())
      append(text, {static_cast<const char*>(instruction->literal().untyped_data()),
                    static_cast<size_t>(instruction->literal().size_bytes())});
    // Canonical text leaves out what the CPU backend and Hone say about single instructions.
    append(text, instruction->raw_backend_config_string());
    const std::map<std::string, std::string> attributes(instruction->frontend_attributes().map().begin(),
                                                        instruction->frontend_attributes().map().end());
    for (const auto& [name, value] : attributes) append(text, name), append(text, value);
    for (const auto* called : instruction->called_computations()) append_constants(text, *called);
  }
}

// Maps in a message come in any order unless asked otherwise.
std::string serialised(const xla::DebugOptions& options) {
  std::string text;
  google::protobuf::io::StringOutputStream stream(&text);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  const bool written = options.SerializeToCodedStream(&out);
  out.Trim();
  return written ? text : "";
}

// How the kernel sees memory: which arguments are one buffer, which are written, how they are aligned.
bool append_arguments(std::string& text, const xla::HloFusionInstruction& fusion,
                      const xla::BufferAssignment& buffers) {
  const auto arguments =
      xla::emitters::KernelArguments::Create(buffers, xla::cpu::GetDefaultBufferAlignment(), &fusion);
  if (!arguments.ok()) return false;
  std::map<xla::BufferAllocation::Index, int> allocations;
  for (const auto& argument : arguments->args()) {
    if (argument.kind() != xla::emitters::KernelArgument::Kind::kManaged) return false;
    const auto& slice = argument.slice();
    const auto* allocation = slice.allocation();
    if (allocation == nullptr) return false;
    const int number = allocations.emplace(slice.index(), allocations.size()).first->second;
    append(text, absl::StrCat(argument.shape().ToString(true), ",", argument.alignment(), ",", argument.written(), ",",
                              argument.aliased(), ",", argument.slice_index(), ",", number, ",", slice.size(), ",",
                              allocation->is_constant(), allocation->is_entry_computation_parameter(),
                              allocation->is_thread_local(), allocation->maybe_live_out()));
    // Parts of one allocation may overlap.
    for (const auto& other : arguments->args()) text += slice.OverlapsWith(other.slice()) ? 'o' : '-';
  }
  return true;
}

}  // namespace

std::string process_key(std::string_view purpose) {
  const std::string options = serialised(xla::GetDebugOptionsFromFlags());
  if (options.empty() || builds_and_processor().empty()) return "";
  std::string text;
  for (const std::string_view part : {purpose, std::string_view(builds_and_processor()), std::string_view(options)})
    append(text, part);
  return Sha256().add(text).hex();
}

CodeScope::CodeScope(CodeCache* cache, const xla::HloModule& module, std::vector<std::string>* objects) {
  CodeTable& table = code_table();
  table.objects = objects;
  const auto& config = module.config();
  if (cache == nullptr || !seam_state(kCodeFusions).on) return;
  const std::string options = serialised(config.debug_options());
  if (options.empty() || builds_and_processor().empty()) return;
  table.cache = cache;
  append(table.context, builds_and_processor());
  append(table.context, options);
  append(table.context, absl::StrCat(config.intra_op_parallelism_threads(), ",", config.replica_count(), ",",
                                     config.num_partitions()));
  for (const SeamState& seam : seam_states()) append(table.context, seam.on ? "on" : "off");
}

CodeScope::~CodeScope() {
  CodeTable& table = code_table();
  if (table.cache != nullptr) table.cache->count(table.counters);
  table.cache = nullptr;
  table.objects = nullptr;
  table.context.clear();
  table.fresh.clear();
  table.reused.clear();
  table.linked.clear();
  table.other_bytes = 0;
  table.counters = {};
}

std::optional<std::string> fusion_key(const std::string& context, const xla::HloFusionInstruction& fusion,
                                      const xla::BufferAssignment& buffers, const std::string& flags) {
  const auto print = xla::HloPrintOptions::Canonical()
                         .set_include_layout_in_shapes(true)
                         .set_print_large_constants(true)
                         .set_print_backend_config(true);
  std::string text = context;
  append(text, flags);
  append(text, xla::ToString(fusion.fusion_kind()));
  append(text, fusion.shape().ToString(true));
  for (const auto* operand : fusion.operands())
    append(text, absl::StrCat(operand->shape().ToString(true), operand->opcode() == xla::HloOpcode::kConstant));
  append(text, fusion.raw_backend_config_string());
  const std::map<std::string, std::string> attributes(fusion.frontend_attributes().map().begin(),
                                                      fusion.frontend_attributes().map().end());
  for (const auto& [name, value] : attributes) append(text, name), append(text, value);
  for (const auto& [output, operand] : fusion.output_operand_aliasing())
    append(text, absl::StrCat(output.ToString(), "=", operand.first, operand.second.ToString()));
  const std::string computation = fusion.fused_instructions_computation()->ToString(print);
  append(text, absl::string_view(computation).substr(computation.find('{')));
  append_constants(text, *fusion.fused_instructions_computation());
  if (!append_arguments(text, fusion, buffers)) return std::nullopt;
  return Sha256().add(text).hex();
}

CanonicalNames::CanonicalNames(const xla::HloFusionInstruction& fusion, const std::string& symbol) {
  auto& own = const_cast<xla::HloFusionInstruction&>(fusion);
  instructions_.emplace(&own, own.name());
  own.SetAndSanitizeName(symbol);
  rename(*own.fused_instructions_computation());
}

void CanonicalNames::rename(xla::HloComputation& computation) {
  if (!computations_.emplace(&computation, computation.name()).second) return;
  computation.SetAndSanitizeName(absl::StrCat("c", computations_.size()));
  for (auto* instruction : computation.MakeInstructionPostOrder()) {
    if (!instructions_.emplace(instruction, instruction->name()).second) continue;
    instruction->SetAndSanitizeName(absl::StrCat("i", instructions_.size()));
    for (auto* called : instruction->called_computations()) rename(*called);
  }
}

CanonicalNames::~CanonicalNames() {
  for (auto& [instruction, name] : instructions_) instruction->SetAndSanitizeName(name);
  for (auto& [computation, name] : computations_) computation->SetAndSanitizeName(name);
}

}  // namespace hone::xla_side
