#include "decisions/weights.h"

#include "decisions/seam_table.h"
#include "graph/packed_weights.h"
#include "status.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

bool is_matrix(const xla::Shape& shape) { return shape.IsArray() && shape.dimensions().size() == 2; }

// A dot that reads the parameter as its right matrix, without batch dimensions.
bool is_plain_rhs(const xla::HloInstruction& user, const xla::HloInstruction* parameter) {
  if (user.opcode() != xla::HloOpcode::kDot || user.operand(1) != parameter || user.operand(0) == parameter)
    return false;
  const auto& numbers = user.dot_dimension_numbers();
  return numbers.rhs_batch_dimensions_size() == 0 && numbers.rhs_contracting_dimensions_size() == 1;
}

void store_transposed(xla::HloComputation& entry, int number) {
  auto* parameter = entry.parameter_instruction(number);
  const xla::Shape swapped = xla::ShapeUtil::MakeShape(
      parameter->shape().element_type(), {parameter->shape().dimensions(1), parameter->shape().dimensions(0)});
  const xla::Shape plain = xla::ShapeUtil::MakeShape(
      parameter->shape().element_type(), {parameter->shape().dimensions(0), parameter->shape().dimensions(1)});
  const std::vector<xla::HloInstruction*> users(parameter->users().begin(), parameter->users().end());
  const bool is_root = parameter == entry.root_instruction();
  auto* stored = entry.ReplaceParameter(
      number, xla::HloInstruction::CreateParameter(number, swapped, std::string(parameter->name()) + "_transposed"));
  xla::HloInstruction* restored = nullptr;  // made only when some user needs the original matrix
  auto as_before = [&] {
    if (restored == nullptr)
      restored = entry.AddInstruction(xla::HloInstruction::CreateTranspose(plain, stored, {1, 0}));
    return restored;
  };
  for (auto* user : users) {
    if (is_plain_rhs(*user, stored)) {
      auto numbers = user->dot_dimension_numbers();
      numbers.set_rhs_contracting_dimensions(0, 1 - numbers.rhs_contracting_dimensions(0));
      auto* dot = entry.AddInstruction(xla::HloInstruction::CreateDot(user->shape(), user->mutable_operand(0), stored,
                                                                      numbers, user->precision_config()));
      check(user->ReplaceAllUsesWith(dot), "transposed weight");
      check(entry.RemoveInstruction(user), "transposed weight");
    } else {
      check(stored->ReplaceUseWithDifferentShape(user, as_before()), "transposed weight");
    }
  }
  if (is_root) entry.set_root_instruction(as_before());
}

}  // namespace

std::vector<Storage> weight_storage(const xla::HloModule& module, const std::vector<int>& declared,
                                    const Decisions& decisions) {
  const auto* entry = module.entry_computation();
  std::vector<Storage> storage(entry->num_parameters(), Storage::AsIs);
  auto set = [&](int number, const std::string& value) {
    if (std::find(declared.begin(), declared.end(), number) == declared.end())
      throw Error("parameter " + std::to_string(number) + " was not declared a weight", "", "name it with --weights");
    const auto& shape = entry->parameter_instruction(number)->shape();
    if (value == "as-is")
      storage[number] = Storage::AsIs;
    else if (value == "constant")
      storage[number] = Storage::Constant;
    else if (value == kPackedWeights)
      storage[number] = Storage::Packed;
    else if (value != "transposed")
      throw Error("unknown weight storage '" + value + "'");
    else if (is_matrix(shape))
      storage[number] = Storage::Transposed;
  };
  for (const Decision& d : decisions)  // "all" first, single parameters override it
    if (d.kind == DecisionKind::Weights && d.key == "all")
      for (int number : declared) set(number, d.value);
  for (const Decision& d : decisions)
    if (d.kind == DecisionKind::Weights && d.key != "all") {
      const int number = std::atoi(d.key.c_str());
      if (number < 0 || number >= entry->num_parameters()) throw Error("no parameter " + d.key);
      set(number, d.value);
    }
  return storage;
}

void apply_weight_storage(xla::HloModule& module, const std::vector<Storage>& storage,
                          const std::vector<xla::Literal>* inputs) {
  auto* entry = module.entry_computation();
  bool changed = false;
  for (size_t i = 0; i < storage.size(); ++i) {
    if (storage[i] == Storage::AsIs || storage[i] == Storage::Packed) continue;
    changed = true;
    auto* parameter = entry->parameter_instruction(i);
    if (storage[i] == Storage::Constant) {
      if (inputs == nullptr || i >= inputs->size()) throw Error("constant weights need their values");
      auto* constant = entry->AddInstruction(xla::HloInstruction::CreateConstant((*inputs)[i].Clone()));
      check(parameter->ReplaceAllUsesWith(constant), "constant weight");
      continue;
    }
    store_transposed(*entry, i);
  }
  if (!changed) return;
  *module.mutable_entry_computation_layout() = xla::ComputationLayout(entry->ComputeProgramShape());
}

std::vector<std::string> computed_of_weights(const xla::HloModule& module, const std::vector<int>& declared) {
  std::set<const xla::HloInstruction*> same, of_weights;  // on every run; those of them that depend on a weight
  std::vector<std::string> names;
  for (const auto* instruction : module.entry_computation()->MakeInstructionPostOrder()) {
    const auto& operands = instruction->operands();
    const xla::HloOpcode opcode = instruction->opcode();
    const auto is_same = [&](const xla::HloInstruction* operand) { return same.contains(operand); };
    const auto depends = [&](const xla::HloInstruction* operand) { return of_weights.contains(operand); };
    const bool parameter = opcode == xla::HloOpcode::kParameter;
    const bool weight =
        parameter && std::find(declared.begin(), declared.end(), instruction->parameter_number()) != declared.end();
    if (parameter ? !weight
                  : instruction->HasSideEffect() || opcode == xla::HloOpcode::kRng ||
                        !std::all_of(operands.begin(), operands.end(), is_same))
      continue;
    same.insert(instruction);
    if (!weight && std::none_of(operands.begin(), operands.end(), depends)) continue;
    of_weights.insert(instruction);
    if (!parameter && opcode != xla::HloOpcode::kBitcast && opcode != xla::HloOpcode::kTuple &&
        opcode != xla::HloOpcode::kGetTupleElement)
      names.emplace_back(instruction->name());
  }
  return names;
}

void mark_packed(xla::HloModule& module, const std::vector<Storage>& storage) {
  for (size_t i = 0; i < storage.size(); ++i)
    if (storage[i] == Storage::Packed)
      module.entry_computation()->parameter_instruction(i)->set_frontend_attribute(kPackedAttribute, "1");
}

std::set<int64_t> marked_packed(const xla::HloModule& module) {
  std::set<int64_t> packed;
  for (const auto* parameter : module.entry_computation()->parameter_instructions())
    if (parameter->frontend_attributes().map().contains(kPackedAttribute)) packed.insert(parameter->parameter_number());
  return packed;
}

}  // namespace hone::xla_side
