#include "decisions/powers.h"

#include <cmath>
#include <limits>
#include <optional>

#include "decisions/arithmetic.h"
#include "decisions/splat.h"
#include "status.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::ComparisonDirection;
using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

constexpr int64_t kLeastElements = 1024;
constexpr float kMostExponent = 16;

std::optional<float> exponent_of(const HloInstruction& op) {
  const HloInstruction* value = splat_of(op.operand(1));
  return value ? std::optional(value->literal().GetFirstElement<float>()) : std::nullopt;
}

class ExponentialPower : Arithmetic {
 public:
  explicit ExponentialPower(HloInstruction* op) : Arithmetic(op->parent()), op_(op) {}

  HloInstruction* build() {
    HloInstruction *x = op_->mutable_operand(0), *exponent = op_->mutable_operand(1);
    HloInstruction* logarithm = unary(HloOpcode::kLog, unary(HloOpcode::kAbs, x));
    HloInstruction* power = unary(HloOpcode::kExp, binary(HloOpcode::kMultiply, exponent, logarithm));
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    HloInstruction* no_root = binary(HloOpcode::kAnd, compare(x, all(0), ComparisonDirection::kLt),
                                     compare(x, all(-kInfinity), ComparisonDirection::kGt));
    return select(no_root, all(std::numeric_limits<float>::quiet_NaN()), power);
  }

 private:
  HloInstruction* all(float number) { return filled(xla::LiteralUtil::CreateR0<float>(number), sizes_of(op_)); }

  HloInstruction* op_;
};

}  // namespace

bool is_large_power(const HloInstruction& op) {
  if (op.opcode() != HloOpcode::kPower || op.shape().element_type() != xla::F32 || op.parent()->IsFusionComputation() ||
      ShapeUtil::ElementsIn(op.shape()) < kLeastElements)
    return false;
  const std::optional<float> exponent = exponent_of(op);
  return exponent && std::abs(*exponent) <= kMostExponent && 2 * *exponent != std::round(2 * *exponent);
}

HloInstruction* exponential_power(HloInstruction* op) {
  if (!is_large_power(*op)) throw Error("not a power with one exponent", std::string(op->name()));
  return ExponentialPower(op).build();
}

}  // namespace hone::xla_side
