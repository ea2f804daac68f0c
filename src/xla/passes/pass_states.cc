#include "passes/pass_states.h"

#include "base/error.h"
#include "xla/service/hlo_cost_analysis.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

constexpr int64_t kKeptInstructions = 300'000;  // about 1 KiB each
constexpr size_t kKeptStates = 512;
constexpr int64_t kPrintedElements = 10;  // of a constant; larger ones XLA elides

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9ddfea08eb382d69ull;
  return hash ^ (hash >> 32);
}

uint64_t content(uint64_t hash, const xla::Literal& literal) {
  const char* data = static_cast<const char*>(literal.untyped_data());
  const size_t size = literal.size_bytes();
  hash = mix(hash, size);
  for (size_t i = 0; i < size; i += 8) {
    uint64_t word = 0;
    memcpy(&word, data + i, std::min<size_t>(8, size - i));
    hash = mix(hash, word);
  }
  return hash;
}

void count_instructions(const xla::HloModule& module, wire::ApplyReplyT& reply) {
  reply.instructions = module.instruction_count();
  std::map<xla::HloOpcode, int64_t> opcodes;
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions()) ++opcodes[instruction->opcode()];
  for (const auto& [opcode, count] : opcodes) {
    auto entry = std::make_unique<wire::CountT>();
    entry->name = std::string(xla::HloOpcodeString(opcode));
    entry->count = count;
    reply.opcodes.push_back(std::move(entry));
  }
}

void analyse_costs(const xla::HloModule& module, wire::ApplyReplyT& reply) {
  xla::HloCostAnalysis cost([](const xla::Shape& shape) { return xla::ShapeUtil::ByteSizeOf(shape, 8); });
  if (!module.entry_computation()->Accept(&cost).ok()) return;
  reply.flops = std::max(0.0f, cost.flop_count());
  reply.transcendentals = std::max(0.0f, cost.transcendental_count());
  reply.bytes_accessed = std::max(0.0f, cost.bytes_accessed());
}

}  // namespace

std::string state_fingerprint(const xla::HloModule& module) {
  static const auto options = xla::HloPrintOptions::Canonical()
                                  .set_print_operand_shape(false)
                                  .set_print_large_constants(false)
                                  .set_include_layout_in_shapes(false);
  uint64_t constants = 0x9ae16a3b2f90404full;
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions())
      if (instruction->opcode() == xla::HloOpcode::kConstant && instruction->shape().IsArray() &&
          xla::ShapeUtil::ElementsIn(instruction->shape()) > kPrintedElements)
        constants += content(0, instruction->literal());  // a sum, since computations have no order
  char hex[33];
  snprintf(hex, sizeof hex, "%016llx%016llx", static_cast<unsigned long long>(module.ToFingerprint(options)),
           static_cast<unsigned long long>(constants));
  return hex;
}

wire::PassesReplyT list_passes() {
  wire::PassesReplyT reply;
  for (const PassRow& pass : passes()) {
    auto entry = std::make_unique<wire::PassInfoT>();
    entry->name = pass.name;
    entry->group = pass.group;
    entry->meaning = pass.meaning;
    entry->default_action = pass.standing == PassStanding::Default;
    entry->changes_numerics = pass.standing == PassStanding::Numerics;
    entry->note = pass.why;
    reply.passes.push_back(std::move(entry));
  }
  return reply;
}

PassStates::Module PassStates::replay(const std::vector<std::string>& passes) const {
  Module module = program_.Clone("");
  module->set_name(program_.name());
  for (const std::string& name : passes) {
    const PassRun run = run_pass(pass_named(name), *module);
    if (!run.error.empty()) throw RunError("pass " + name + " failed on replay: " + run.error);
  }
  return module;
}

PassStates::Module PassStates::take(const wire::ApplyRequestT& request, bool& branches) {
  const bool initial = request.state.empty() || request.state == initial_;
  if (spare_ && spare_of_ == (initial ? initial_ : request.state)) {
    branches = true;
    return std::move(spare_);
  }
  branches = initial;
  if (initial) return replay({});
  const auto found = found_.find(request.state);
  if (found == found_.end()) {
    branches = given_away_.count(request.state) > 0;
    Module module = replay(request.history);
    if (!branches) return module;
    Module copy = module->Clone("");
    copy->set_name(program_.name());
    keep(request.state, std::move(module), true);
    return copy;
  }
  const auto kept = found->second;
  branches = kept->branches;
  if (branches) {
    kept_.splice(kept_.begin(), kept_, kept);
    Module copy = kept->module->Clone("");
    copy->set_name(program_.name());
    return copy;
  }
  Module module = std::move(kept->module);
  instructions_ -= module->instruction_count();
  kept_.erase(kept);
  found_.erase(found);
  return module;
}

void PassStates::keep(const std::string& fingerprint, Module module, bool branches) {
  if (fingerprint == initial_ || found_.count(fingerprint)) return;
  instructions_ += module->instruction_count();
  kept_.push_front({fingerprint, std::move(module), branches});
  found_[fingerprint] = kept_.begin();
  while (kept_.size() > 1 && (instructions_ > kKeptInstructions || kept_.size() > kKeptStates)) {
    instructions_ -= kept_.back().module->instruction_count();
    found_.erase(kept_.back().fingerprint);
    kept_.pop_back();
  }
}

wire::ApplyReplyT PassStates::apply(const wire::ApplyRequestT& request) {
  std::vector<const PassRow*> rows;
  for (const std::string& name : request.passes) rows.push_back(&pass_named(name));
  if (initial_.empty()) initial_ = state_fingerprint(program_);
  const std::string before = request.state.empty() ? initial_ : request.state;
  wire::ApplyReplyT reply;
  bool branches = false, any = false;
  Module module = take(request, branches);
  for (const PassRow* row : rows) {
    const PassRun run = run_pass(*row, *module);
    if (!run.error.empty()) {
      reply.error = std::string(row->name) + ": " + run.error;
      std::vector<std::string> ran = request.history;
      ran.insert(ran.end(), request.passes.begin(), request.passes.begin() + static_cast<long>(reply.changed.size()));
      module = replay(ran);
      break;
    }
    reply.changed.push_back(run.changed);
    reply.pass_ms.push_back(run.ms);
    any = any || run.changed;
  }
  reply.fingerprint = any ? state_fingerprint(*module) : before;
  if (any && reply.fingerprint == before) reply.changed.assign(reply.changed.size(), false);
  if (request.verify) {
    const std::string wrong = verify(*module);
    if (!wrong.empty() && reply.error.empty()) reply.error = "XLA's verifier: " + wrong;
  }
  const bool described = any || request.state.empty() || rows.empty();
  if (described) count_instructions(*module, reply);
  if (described && request.want_costs) analyse_costs(*module, reply);
  if (request.want_hlo) reply.hlo = module->ToString(xla::HloPrintOptions().set_print_large_constants(true));
  if (request.want_proto) {
    const std::string proto = module->ToProto().SerializeAsString();
    reply.module_proto.assign(proto.begin(), proto.end());
  }
  if (reply.fingerprint != before && !branches) given_away_[before] = true;
  if (branches && !any && reply.error.empty()) {
    spare_of_ = before;
    spare_ = std::move(module);
  } else {
    keep(reply.fingerprint, std::move(module), reply.fingerprint == before && branches);
  }
  return reply;
}

}  // namespace hone::xla_side
