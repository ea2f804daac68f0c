#include "decisions/recurrence_operands.h"

#include "status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

constexpr int kDeepest = 500;  // operations, one of the other: bodies of loops may have thousands

// Operations that may be computed once instead of in every step.
bool is_pure(const HloInstruction& op) {
  switch (op.opcode()) {
    case HloOpcode::kConstant:
    case HloOpcode::kIota:
    case HloOpcode::kReshape:
    case HloOpcode::kTranspose:
    case HloOpcode::kBroadcast:
    case HloOpcode::kSlice:
    case HloOpcode::kConcatenate:
    case HloOpcode::kReverse:
    case HloOpcode::kPad:
    case HloOpcode::kConvert:
    case HloOpcode::kCopy:
      return op.shape().IsArray();
    default:
      return op.IsElementwise() && op.shape().IsArray() && !op.HasSideEffect() && op.called_computations().empty() &&
             op.opcode() != HloOpcode::kRng;
  }
}

class Builder : Arithmetic {
 public:
  explicit Builder(const RecurrentLoop& loop) : Arithmetic(loop.loop->parent()), loop_(loop) {}

  HloInstruction* given(int64_t part) { return loop_.loop->mutable_operand(0)->mutable_operand(part); }

  // The value outside of the loop.
  HloInstruction* kept(HloInstruction* value) {
    value = untupled(value);
    if (const int64_t part = part_of(loop_, value); part >= 0) return given(part);
    HloInstruction*& copy = copies_[value];
    if (copy != nullptr) return copy;
    std::vector<HloInstruction*> operands;
    for (HloInstruction* operand : value->operands()) operands.push_back(kept(operand));
    HloInstruction* made = add(value->CloneWithNewOperands(value->shape(), operands));
    return copies_[value] = made;
  }

  HloInstruction* as_f32(HloInstruction* value) { return as_type(value, xla::F32); }

  HloInstruction* dot(HloInstruction* left, int64_t contracted, const MatrixSide& side,
                      const xla::PrecisionConfig& precision) {
    HloInstruction* right = matrix(side);
    Sizes sizes = sizes_of(left);
    sizes.erase(sizes.begin() + contracted);
    sizes.push_back(right->shape().dimensions(1));
    xla::DotDimensionNumbers numbers;
    numbers.add_lhs_contracting_dimensions(contracted);
    numbers.add_rhs_contracting_dimensions(0);
    return add(HloInstruction::CreateDot(shape_like(left, sizes), left, right, numbers, precision));
  }

 private:
  // As [depth, columns].
  HloInstruction* matrix(const MatrixSide& side) {
    HloInstruction* value = kept(side.value);
    Sizes order;
    for (int64_t d = 0; d < static_cast<int64_t>(value->shape().dimensions().size()); ++d)
      if (d != side.depth && d != side.columns) order.push_back(d);
    order.push_back(side.depth);
    order.push_back(side.columns);
    const Sizes sizes = sizes_of(value);
    value = reshaped(transposed(value, order), {sizes[side.depth], sizes[side.columns]});
    if (side.count == sizes[side.depth]) return value;
    return add(HloInstruction::CreateSlice(shape_like(value, {side.count, sizes[side.columns]}), value, {side.first, 0},
                                           {side.first + side.count, sizes[side.columns]}, {1, 1}));
  }

  const RecurrentLoop& loop_;
  std::map<const HloInstruction*, HloInstruction*> copies_;
};

}  // namespace

bool RecurrenceOperands::is_kept(HloInstruction* value) {
  value = untupled(value);
  if (const int64_t part = part_of(loop_, value); part >= 0)
    return loop_.parts[part].kind == LoopPart::Kept && value->shape().IsArray();
  if (const auto known = is_kept_.find(value); known != is_kept_.end()) return known->second;
  bool kept = is_pure(*value) && depth_ < kDeepest;
  ++depth_;
  for (HloInstruction* operand : value->operands()) kept = kept && is_kept(operand);
  --depth_;
  return is_kept_[value] = kept;
}

int64_t RecurrenceOperands::number_of(Operand operand) {
  const Key key{operand.value,        operand.part,         operand.contracted,
                operand.matrix.value, operand.matrix.depth, operand.matrix.first};
  const auto [at, is_new] = numbers_.try_emplace(key, static_cast<int64_t>(operands_.size()));
  if (is_new) operands_.push_back(std::move(operand));
  return at->second;
}

int64_t RecurrenceOperands::kept(HloInstruction* value) {
  value = untupled(value);
  const int64_t part = part_of(loop_, value);
  return part >= 0 && value->shape().element_type() == xla::F32 ? given(part) : number_of({.value = value});
}

int64_t RecurrenceOperands::given(int64_t part) { return number_of({.part = part}); }

int64_t RecurrenceOperands::dot(HloInstruction* value, int64_t contracted, const MatrixSide& matrix,
                                const xla::PrecisionConfig& precision) {
  return number_of({.value = value, .contracted = contracted, .matrix = matrix, .precision = precision});
}

std::vector<HloInstruction*> RecurrenceOperands::build() const {
  Builder builder(loop_);
  std::vector<HloInstruction*> built;
  for (const Operand& operand : operands_)
    if (operand.part >= 0)
      built.push_back(builder.given(operand.part));
    else if (operand.contracted < 0)
      built.push_back(builder.as_f32(builder.kept(operand.value)));
    else
      built.push_back(builder.dot(builder.kept(operand.value), operand.contracted, operand.matrix, operand.precision));
  return built;
}

}  // namespace hone::xla_side
