#include "decisions/sine.h"

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
using xla::Shape;
using xla::ShapeUtil;

constexpr int64_t kLeastElements = 4096;
constexpr float kLargest = 8192;       // below it the multiples of pi / 2 in the first part are exact
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
  HloInstruction* unary(HloOpcode opcode, HloInstruction* value) {
    return add(HloInstruction::CreateUnary(value->shape(), opcode, value));
  }
  HloInstruction* compare(HloInstruction* a, HloInstruction* b, ComparisonDirection direction) {
    return add(HloInstruction::CreateCompare(ShapeUtil::ChangeElementType(x_->shape(), xla::PRED), a, b, direction));
  }
  HloInstruction* select(HloInstruction* which, HloInstruction* a, HloInstruction* b) {
    return add(HloInstruction::CreateTernary(a->shape(), HloOpcode::kSelect, which, a, b));
  }
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

HloComputation* largest_of_two(xla::HloModule& module) {
  HloComputation::Builder builder("largest");
  const Shape scalar = ShapeUtil::MakeShape(xla::F32, {});
  auto* x = builder.AddInstruction(HloInstruction::CreateParameter(0, scalar, "x"));
  auto* y = builder.AddInstruction(HloInstruction::CreateParameter(1, scalar, "y"));
  builder.AddInstruction(HloInstruction::CreateBinary(scalar, HloOpcode::kMaximum, x, y));
  return module.AddEmbeddedComputation(builder.Build());
}

}  // namespace

bool is_large_sine(const HloInstruction& op) {
  return (op.opcode() == HloOpcode::kSin || op.opcode() == HloOpcode::kCos) && op.shape().element_type() == xla::F32 &&
         ShapeUtil::ElementsIn(op.shape()) >= kLeastElements && !op.parent()->IsFusionComputation();
}

HloInstruction* polynomial_sine(HloInstruction* op) {
  xla::HloModule& module = *op->GetModule();
  const auto add = [&](std::unique_ptr<HloInstruction> instruction) {
    return op->parent()->AddInstruction(std::move(instruction));
  };
  HloInstruction* x = op->mutable_operand(0);
  std::vector<int64_t> dimensions;
  for (size_t d = 0; d < x->shape().dimensions().size(); ++d) dimensions.push_back(static_cast<int64_t>(d));
  const Shape scalar = ShapeUtil::MakeShape(xla::F32, {});
  HloInstruction* sizes = add(HloInstruction::CreateUnary(x->shape(), HloOpcode::kAbs, x));
  HloInstruction* zero = add(HloInstruction::CreateConstant(xla::LiteralUtil::CreateR0<float>(0)));
  HloInstruction* largest = add(HloInstruction::CreateReduce(scalar, sizes, zero, dimensions, largest_of_two(module)));
  HloInstruction* limit = add(HloInstruction::CreateConstant(xla::LiteralUtil::CreateR0<float>(kLargest)));
  HloInstruction* small =
      add(HloInstruction::CreateCompare(ShapeUtil::MakeShape(xla::PRED, {}), largest, limit, ComparisonDirection::kLt));
  return add(HloInstruction::CreateConditional(op->shape(), small, x, branch(module, *op, true), x,
                                               branch(module, *op, false)));
}

}  // namespace hone::xla_side
