// A program under decisions for an XLA without Hone: what can be written out as StableHLO, and settings of the compiler for the rest.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "decisions/fusion_barrier.h"
#include "decisions/host_kernels.h"
#include "decisions/operation_rewrites.h"
#include "decisions/program_options.h"
#include "google/protobuf/descriptor.h"
#include "graph/decision_family.h"
#include "graph/winograd_form.h"
#include "passes/passes.h"
#include "service/handlers.h"
#include "service/to_wire.h"
#include "status.h"
#include "wire/client.h"
#include "xla_pch.h"

namespace xla {
// Exported by the wheel; its header (xla/hlo/translate/portable_api.h) is not in it.
absl::StatusOr<std::string> ConvertHloToStablehlo(const HloModule& module, bool emit_bytecode);
}  // namespace xla

namespace hone::xla_side {
namespace {

constexpr char kByProgram[] = "program", kByAnotherForm[] = "another form", kByOptions[] = "options",
               kByFlags[] = "flags";

using Values = std::map<std::string, std::string>;

// The value of a field as compiler_options take it.
std::string value_text(const xla::DebugOptions& options, const google::protobuf::FieldDescriptor& field) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reader = *options.GetReflection();
  if (field.is_repeated()) {
    std::vector<std::string> words;
    if (field.cpp_type() == Field::CPPTYPE_ENUM)
      for (int i = 0; i < reader.FieldSize(options, &field); ++i)
        words.emplace_back(reader.GetRepeatedEnum(options, &field, i)->name());
    return absl::StrJoin(words, ",");
  }
  switch (field.cpp_type()) {
    case Field::CPPTYPE_BOOL:
      return reader.GetBool(options, &field) ? "true" : "false";
    case Field::CPPTYPE_INT32:
      return absl::StrCat(reader.GetInt32(options, &field));
    case Field::CPPTYPE_INT64:
      return absl::StrCat(reader.GetInt64(options, &field));
    case Field::CPPTYPE_STRING:
      return reader.GetString(options, &field);
    case Field::CPPTYPE_ENUM:
      return std::string(reader.GetEnum(options, &field)->name());
    default:
      return "";
  }
}

// What the options have that the base has not.
Values changed_options(const xla::DebugOptions& base, const xla::DebugOptions& options) {
  Values changed;
  const google::protobuf::Descriptor& type = *xla::DebugOptions::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const auto& field = *type.field(i);
    const std::string value = value_text(options, field);
    if (value != value_text(base, field)) changed[std::string(field.name())] = value;
  }
  return changed;
}

Values changed_flags(const xla::DebugOptions& base, const xla::DebugOptions& options) {
  Values changed;
  for (const auto& [name, value] : options.xla_backend_extra_options())
    if (!base.xla_backend_extra_options().contains(name)) changed[name] = value;
  return changed;
}

// Calls of kernels that only Hone's runtime surely has. XLA's own passes write those of oneDNN after a program was given.
int kernel_calls(const xla::HloModule& module) {
  constexpr char kOneDnnPrefix[] = "__onednn$";
  int calls = 0;
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions())
      if (instruction->opcode() == xla::HloOpcode::kCustomCall &&
          (absl::StartsWith(instruction->custom_call_target(), kHostKernelPrefix) ||
           absl::StartsWith(instruction->custom_call_target(), kOneDnnPrefix)))
        ++calls;
  return calls;
}

std::unique_ptr<xla::HloModule> copy_of(const xla::HloModule& program) {
  auto module = program.Clone("");
  module->set_name(program.name());
  return module;
}

bool is_plain_rewrite(const xla::HloModule& program, const Decision& decision) {
  auto module = copy_of(program);
  apply_rewrites(*module, {decision});
  return kernel_calls(*module) <= kernel_calls(program);
}

// Why a decision of this stage has no place in a program and its options.
std::string why_not(const Decision& decision) {
  switch (stage_of(decision.kind, decision.key)) {
    case DecisionStage::Layouts:
      return "decided within XLA's layout assignment";
    case DecisionStage::Fusion:
      return "decided within XLA's fusion";
    case DecisionStage::Kernels:
      return "decided about one kernel within XLA's code generation";
    case DecisionStage::Options:
      return decision.key == kIntraOpThreads || decision.key == kWaitPolicy
                 ? "threads are those of the whole process in JAX"
                 : "done by Hone in its own process, not by an option of XLA";
    case DecisionStage::Program:
      return decision.kind == DecisionKind::Weights ? "weights are stored by Hone's runtime"
                                                    : "computed by a kernel of Hone or oneDNN";
  }
  return "";
}

// What keeps fusions from computing a value again is an attribute that only Hone's worker reads.
void drop_barriers(xla::HloModule& module) {
  for (auto* computation : module.computations())
    for (auto* instruction : computation->instructions()) {
      if (!instruction->has_frontend_attributes()) continue;
      xla::FrontendAttributes attributes = instruction->frontend_attributes();
      if (attributes.mutable_map()->erase(kBarrierAttribute) > 0) instruction->set_frontend_attributes(attributes);
    }
}

// Bytes of StableHLO. Parameters are not donated: callers read them again.
std::vector<uint8_t> stablehlo_of(xla::HloModule& module) {
  drop_barriers(module);
  module.input_output_alias_config() =
      xla::HloInputOutputAliasConfig(module.entry_computation()->root_instruction()->shape());
  module.buffer_donor_config() = xla::HloBufferDonorConfig();
  const std::string text = take(xla::ConvertHloToStablehlo(module, /*emit_bytecode=*/false), "conversion to StableHLO");
  return {text.begin(), text.end()};
}

template <class Row>
Row& add(std::vector<std::unique_ptr<Row>>& rows) {
  return *rows.emplace_back(std::make_unique<Row>());
}

void set_settings(const Values& values, std::vector<std::unique_ptr<wire::SettingT>>& out) {
  for (const auto& [name, value] : values) {
    wire::SettingT& setting = add(out);
    setting.name = name;
    setting.value = value;
  }
}

// How a decision leaves Hone.
struct Carrier {
  std::string by;     // empty: it does not
  std::string value;  // what is applied
};

// The same method without a kernel of Hone, or else the first form of the operation that calls none; empty where there is none.
std::string plain_form(const xla::HloModule& program, const std::map<std::string, RewritableOperation>& operations,
                       const Decision& decision) {
  const auto operation = operations.find(decision.key);
  if (operation == operations.end()) return "";
  std::vector<std::string> values = operation->second.values;
  if (std::optional<WinogradForm> form = WinogradForm::parse(decision.value);
      form && form->use == WinogradUse::Kernel) {
    form->use = WinogradUse::Plain;
    values.insert(values.begin(), to_text(*form));
  }
  for (const std::string& value : values)
    if (value != decision.value && is_plain_rewrite(program, {decision.kind, decision.key, value})) return value;
  return "";
}

// The carrier of each decision, in their order.
std::vector<Carrier> carriers(const xla::HloModule& program, const CompileTarget& target, const Decisions& decisions) {
  const xla::DebugOptions base = debug_options_of(target);
  const std::map<std::string, RewritableOperation> operations = rewritable_operations(program);
  std::vector<Carrier> found;
  for (const Decision& d : decisions) {
    Carrier& carrier = found.emplace_back(Carrier{"", d.value});
    if (d.kind == DecisionKind::Passes || (d.kind == DecisionKind::Rewrite && is_plain_rewrite(program, d))) {
      carrier.by = kByProgram;
    } else if (const std::string plain = plain_form(program, operations, d);
               d.kind == DecisionKind::Rewrite && !plain.empty()) {
      carrier = {kByAnotherForm, plain};
    } else if (stage_of(d.kind, d.key) == DecisionStage::Options) {
      xla::DebugOptions changed = base;
      apply_program_options(changed, target, {d});
      if (!changed_options(base, changed).empty()) carrier.by = kByOptions;
      if (!changed_flags(base, changed).empty()) carrier.by = kByFlags;
    }
  }
  return found;
}

Decisions carried_by(std::initializer_list<std::string> by, const Decisions& decisions,
                     const std::vector<Carrier>& carriers) {
  Decisions found;
  for (size_t i = 0; i < decisions.size(); ++i)
    if (std::find(by.begin(), by.end(), carriers[i].by) != by.end())
      found.push_back({decisions[i].kind, decisions[i].key, carriers[i].value});
  return found;
}

}  // namespace

wire::ExportReplyT Handlers::export_program(const wire::ExportRequestT& request) {
  const xla::HloModule& whole = program(request.program).module();
  const CompileTarget target = target_of(request.target.get());
  const Decisions decisions = wire::from_wire(request.decisions);
  const std::vector<Carrier> found = carriers(whole, target, decisions);
  wire::ExportReplyT reply;
  for (size_t i = 0; i < decisions.size(); ++i) {
    wire::CarriedT& carried = add(reply.carried);
    carried.by = found[i].by;
    if (found[i].by.empty()) carried.why = why_not(decisions[i]);
    if (found[i].by == kByAnotherForm) carried.why = found[i].value;
  }

  auto module = copy_of(whole);
  const Decisions written = carried_by({kByProgram, kByAnotherForm}, decisions, found);
  apply_rewrites(*module, written);
  if (kernel_calls(*module) > kernel_calls(whole))
    throw Error("rewrites that are plain operations alone call kernels of Hone together", whole.name(),
                "use hone.load(...).jax");
  run_pass_decisions(*module, written);
  reply.stablehlo = stablehlo_of(*module);

  const xla::DebugOptions base = debug_options_of({}), limited = debug_options_of(target);
  xla::DebugOptions changed = limited;
  apply_program_options(changed, target, carried_by({kByOptions, kByFlags}, decisions, found));
  set_settings(changed_options(base, changed), reply.options);
  set_settings(changed_flags(base, changed), reply.flags);
  return reply;
}

}  // namespace hone::xla_side
