#include "decisions/sine.h"

#include <numeric>

#include "decisions/arithmetic.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::ComparisonDirection;
using xla::HloComputation;
using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

constexpr int64_t kLeastSines = 4096;
constexpr float kLargestAngle = 8192;  // below it the multiples of pi / 2 in the first part are exact
constexpr float kSmall = 1.0f / 4096;  // below it the sine is its argument
constexpr float kTwoOverPi = 0.636619772367581343f;
constexpr float kHalfPi[] = {1.5703125f, 4.837512969970703125e-4f, 7.54978995489188216e-8f};
constexpr float kSine[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
constexpr float kCosine[] = {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f};

// The body of one branch.
class Polynomials : Arithmetic {
 public:
  Polynomials(HloComputation* computation, bool cosine)
      : Arithmetic(computation), x_(computation->parameter_instruction(0)), cosine_(cosine) {}

  HloInstruction* build() {
    HloInstruction* quarters = unary(HloOpcode::kRoundNearestEven, binary(HloOpcode::kMultiply, x_, all(kTwoOverPi)));
    HloInstruction* rest = x_;
    for (const float part : kHalfPi)
      rest = binary(HloOpcode::kSubtract, rest, binary(HloOpcode::kMultiply, quarters, all(part)));
    HloInstruction* square = binary(HloOpcode::kMultiply, rest, rest);
    HloInstruction* sine =
        binary(HloOpcode::kAdd, rest,
               binary(HloOpcode::kMultiply, binary(HloOpcode::kMultiply, rest, square), polynomial(kSine, square)));
    HloInstruction* fourth = binary(HloOpcode::kMultiply, square, square);
    HloInstruction* cosine =
        binary(HloOpcode::kAdd, binary(HloOpcode::kSubtract, all(1), binary(HloOpcode::kMultiply, square, all(0.5f))),
               binary(HloOpcode::kMultiply, fourth, polynomial(kCosine, square)));
    HloInstruction* quarter = as_type(quarters, xla::S32);
    if (cosine_) quarter = binary(HloOpcode::kAdd, quarter, integers(1));
    HloInstruction* value = select(bit(quarter, 1), cosine, sine);
    value = select(bit(quarter, 2), unary(HloOpcode::kNegate, value), value);
    if (cosine_) return value;
    return select(compare(unary(HloOpcode::kAbs, x_), all(kSmall), ComparisonDirection::kLt), x_, value);
  }

 private:
  HloInstruction* all(float number) { return filled(xla::LiteralUtil::CreateR0<float>(number), sizes_of(x_)); }
  HloInstruction* integers(int32_t number) { return filled(xla::LiteralUtil::CreateR0<int32_t>(number), sizes_of(x_)); }
  HloInstruction* bit(HloInstruction* number, int32_t mask) {
    return compare(binary(HloOpcode::kAnd, number, integers(mask)), integers(0), ComparisonDirection::kNe);
  }
  // By Horner's rule, the highest power first.
  HloInstruction* polynomial(const float (&coefficients)[3], HloInstruction* at) {
    HloInstruction* value = all(coefficients[0]);
    for (const float next : {coefficients[1], coefficients[2]})
      value = binary(HloOpcode::kAdd, binary(HloOpcode::kMultiply, value, at), all(next));
    return value;
  }

  HloInstruction* x_;
  bool cosine_;
};

HloComputation* branch(xla::HloModule& module, const HloInstruction& op, bool polynomials) {
  HloComputation::Builder builder(polynomials ? "polynomial" : "exact");
  auto* x = builder.AddInstruction(HloInstruction::CreateParameter(0, op.operand(0)->shape(), "x"));
  if (!polynomials) builder.AddInstruction(HloInstruction::CreateUnary(op.shape(), op.opcode(), x));
  HloComputation* computation = module.AddEmbeddedComputation(builder.Build());
  if (polynomials) computation->set_root_instruction(Polynomials(computation, op.opcode() == HloOpcode::kCos).build());
  return computation;
}

// The choice between both branches, in the computation of the operation.
class GuardedSine : Arithmetic {
 public:
  explicit GuardedSine(HloInstruction* op) : Arithmetic(op->parent()), op_(op) {}

  HloInstruction* build() {
    HloInstruction* x = op_->mutable_operand(0);
    Sizes all(x->shape().dimensions().size());
    std::iota(all.begin(), all.end(), 0);
    HloInstruction* largest = reduced(unary(HloOpcode::kAbs, x), scalar(0), all, HloOpcode::kMaximum);
    HloInstruction* small = compare(largest, scalar(kLargestAngle), ComparisonDirection::kLt);
    xla::HloModule& module = *op_->GetModule();
    return add(HloInstruction::CreateConditional(op_->shape(), small, x, branch(module, *op_, true), x,
                                                 branch(module, *op_, false)));
  }

 private:
  HloInstruction* scalar(float number) {
    return add(HloInstruction::CreateConstant(xla::LiteralUtil::CreateR0<float>(number)));
  }

  HloInstruction* op_;
};

}  // namespace

bool is_large_sine(const HloInstruction& op) {
  return (op.opcode() == HloOpcode::kSin || op.opcode() == HloOpcode::kCos) && op.shape().element_type() == xla::F32 &&
         ShapeUtil::ElementsIn(op.shape()) >= kLeastSines && !op.parent()->IsFusionComputation();
}

HloInstruction* polynomial_sine(HloInstruction* op) { return GuardedSine(op).build(); }

}  // namespace hone::xla_side
