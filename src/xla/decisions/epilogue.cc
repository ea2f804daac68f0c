#include "decisions/epilogue.h"

#include "decisions/activations.h"
#include "decisions/arithmetic.h"
#include "decisions/splat.h"
#include "status.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

constexpr size_t kMostFollowed = 16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

const char* binary_name(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAdd:
      return "add";
    case HloOpcode::kSubtract:
      return "sub";
    case HloOpcode::kMultiply:
      return "mul";
    case HloOpcode::kDivide:
      return "div";
    case HloOpcode::kMaximum:
      return "max";
    case HloOpcode::kMinimum:
      return "min";
    default:
      return nullptr;
  }
}

const char* unary_name(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kLogistic:
      return "logistic";
    case HloOpcode::kTanh:
      return "tanh";
    case HloOpcode::kExp:
      return "exp";
    case HloOpcode::kAbs:
      return "abs";
    case HloOpcode::kSqrt:
      return "sqrt";
    default:
      return nullptr;
  }
}

// factor x + summand, each a number and a vector of channels, if there is one.
struct Affine {
  double factor = 1, summand = 0;
  HloInstruction *factors = nullptr, *summands = nullptr;
};

class Walk : Arithmetic {
 public:
  Walk(HloInstruction* result, int64_t channels, bool through_reshapes)
      : Arithmetic(result->parent()),
        channels_(channels),
        through_reshapes_(through_reshapes),
        now_(result),
        found_{{}, {}, result} {}

  Epilogue walked() {
    while (found_.steps.size() < kMostFollowed && now_ != now_->parent()->root_instruction() && step())
      found_.last = now_;
    flush();
    return std::move(found_);
  }

 private:
  // Goes on to the next value, if it is one of a step.
  bool step() {
    if (auto activation = activation_of(now_)) return then(std::move(activation->step), activation->result);
    if (now_->user_count() != 1) return false;
    HloInstruction* user = now_->users()[0];
    if (user->opcode() == HloOpcode::kReshape) return reshape(user);
    if (user->shape().element_type() != xla::F32 || !xla::ShapeUtil::SameDimensions(user->shape(), now_->shape()))
      return false;
    if (const char* name = unary_name(user->opcode())) return then({name}, user);
    if (user->opcode() == HloOpcode::kNegate) return times(user, -1);
    if (user->opcode() == HloOpcode::kClamp && user->operand(1) == now_) return clamped(user);
    if (user->opcode() == HloOpcode::kBatchNormInference) return normalized(user);
    const bool binary = binary_name(user->opcode()) != nullptr && user->operand(0) != user->operand(1);
    return binary && combined(user, user->mutable_operand(user->operand(0) == now_ ? 1 : 0), user->operand(0) == now_);
  }

  bool then(PostOp op, HloInstruction* next) {
    flush();
    // Bounds one after another are one pair of bounds.
    if (op.name == "clip" && !found_.steps.empty() && found_.steps.back().name == "clip") {
      PostOp& before = found_.steps.back();
      before.alpha = std::clamp(before.alpha, op.alpha, op.beta);
      before.beta = std::clamp(before.beta, op.alpha, op.beta);
    } else {
      found_.steps.push_back(std::move(op));
    }
    now_ = next;
    return true;
  }

  bool reshape(HloInstruction* user) {
    const auto last = static_cast<int64_t>(user->shape().dimensions().size()) - 1;
    if (!through_reshapes_ || last < 0 || user->shape().dimensions(last) != now_->shape().dimensions(channels_))
      return false;
    channels_ = last;
    now_ = user;
    return true;
  }

  bool times(HloInstruction* next, double number) {
    affine_.factor *= number;
    affine_.summand *= number;
    if (affine_.summands) affine_.summands = scaled(affine_.summands, number);
    now_ = next;
    return true;
  }

  bool times(HloInstruction* next, HloInstruction* vector) {
    affine_.factors = product(affine_.factors, vector);
    if (affine_.summand != 0) {
      HloInstruction* all = everywhere(affine_.summand, vector);
      affine_.summands = affine_.summands ? binary(HloOpcode::kAdd, affine_.summands, all) : all;
      affine_.summand = 0;
    }
    if (affine_.summands) affine_.summands = product(affine_.summands, vector);
    now_ = next;
    return true;
  }

  bool plus(HloInstruction* next, double number) {
    affine_.summand += number;
    now_ = next;
    return true;
  }

  bool plus(HloInstruction* next, HloInstruction* vector) {
    affine_.summands = affine_.summands ? binary(HloOpcode::kAdd, affine_.summands, vector) : vector;
    now_ = next;
    return true;
  }

  HloInstruction* everywhere(double number, HloInstruction* vector) {
    return filled(xla::LiteralUtil::CreateR0<float>(static_cast<float>(number)), sizes_of(vector));
  }
  HloInstruction* scaled(HloInstruction* vector, double number) {
    return number == 1 ? vector : product(everywhere(number, vector), vector);
  }
  HloInstruction* product(HloInstruction* a, HloInstruction* b) {
    return a == nullptr ? b : binary(HloOpcode::kMultiply, a, b);
  }

  // Factors and summands that have been put together become steps.
  void flush() {
    const Affine a = std::exchange(affine_, {});
    if (a.factors) {
      found_.steps.push_back({"mul", PostOperand::Channel});
      found_.operands.push_back(scaled(a.factors, a.factor));
    }
    const double factor = a.factors ? 1 : a.factor, summand = a.summands ? 0 : a.summand;
    if (factor != 1 || summand != 0) found_.steps.push_back({"linear", PostOperand::None, factor, summand});
    if (a.summands == nullptr) return;
    found_.steps.push_back({"add", PostOperand::Channel});
    found_.operands.push_back(a.summand == 0 ? a.summands
                                             : binary(HloOpcode::kAdd, a.summands, everywhere(a.summand, a.summands)));
  }

  bool clamped(HloInstruction* user) {
    const auto low = constant(user->operand(0)), high = constant(user->operand(2));
    return low && high && then({"clip", PostOperand::None, *low, *high}, user);
  }

  // With the means and variances of its channels: a factor and a summand for each.
  bool normalized(HloInstruction* user) {
    if (user->operand(0) != now_ || user->feature_index() != channels_) return false;
    HloInstruction *scale = user->mutable_operand(1), *offset = user->mutable_operand(2);
    HloInstruction *mean = user->mutable_operand(3), *variance = user->mutable_operand(4);
    HloInstruction* sum = binary(HloOpcode::kAdd, variance, everywhere(user->epsilon(), variance));
    HloInstruction* factor = product(scale, unary(HloOpcode::kRsqrt, sum));
    return times(user, factor) && plus(user, binary(HloOpcode::kSubtract, offset, product(mean, factor)));
  }

  // `first`: our value is the first operand.
  bool combined(HloInstruction* user, HloInstruction* other, bool first) {
    const HloOpcode opcode = user->opcode();
    if (const auto number = constant(other)) return with_constant(user, opcode, *number, first);
    if (!first && opcode == HloOpcode::kDivide) return false;
    HloInstruction* vector = of_channels(other);
    if (vector == nullptr && other->opcode() == HloOpcode::kBroadcast) return false;  // small: not worth writing out
    if (!first && opcode == HloOpcode::kSubtract) times(now_, -1);
    const bool adds = opcode == HloOpcode::kAdd || (opcode == HloOpcode::kSubtract && !first);
    if (vector && adds) return plus(user, vector);
    if (vector && opcode == HloOpcode::kSubtract) return plus(user, unary(HloOpcode::kNegate, vector));
    if (vector && opcode == HloOpcode::kMultiply) return times(user, vector);
    then({adds ? "add" : binary_name(opcode), vector ? PostOperand::Channel : PostOperand::Full}, user);
    found_.operands.push_back(vector ? vector : other);
    return true;
  }

  bool with_constant(HloInstruction* user, HloOpcode opcode, double c, bool first) {
    switch (opcode) {
      case HloOpcode::kAdd:
        return plus(user, c);
      case HloOpcode::kSubtract:
        return times(now_, first ? 1 : -1) && plus(user, first ? -c : c);
      case HloOpcode::kMultiply:
        return times(user, c);
      case HloOpcode::kDivide:
        return first && times(user, 1 / c);
      case HloOpcode::kMaximum:
        return then({"clip", PostOperand::None, c, kInfinity}, user);
      case HloOpcode::kMinimum:
        return then({"clip", PostOperand::None, -kInfinity, c}, user);
      default:
        return false;
    }
  }

  static std::optional<double> constant(const HloInstruction* value) {
    const HloInstruction* splat = splat_of(value);
    if (splat == nullptr || splat->shape().element_type() != xla::F32) return std::nullopt;
    const double number = splat->literal().data<float>()[0];
    return std::isfinite(number) ? std::optional(number) : std::nullopt;
  }

  // The vector that is repeated for all but the channels; null where the array is no such.
  HloInstruction* of_channels(HloInstruction* value) {
    std::vector<HloInstruction*> chain;
    int64_t dimension = channels_;  // of `value`; -1: not there
    for (;; value = value->mutable_operand(0)) {
      const auto& sizes = value->shape().dimensions();
      if (xla::ShapeUtil::ElementsIn(value->shape()) == sizes[dimension] && value->shape().element_type() == xla::F32 &&
          !chain.empty())
        return reshaped(value, {sizes[dimension]});
      if (value->opcode() != HloOpcode::kBroadcast) return nullptr;
      chain.push_back(value);
      const auto& to = value->dimensions();
      const auto from = std::find(to.begin(), to.end(), dimension);
      if (from == to.end()) return nullptr;
      dimension = from - to.begin();
    }
  }

  int64_t channels_;
  bool through_reshapes_;
  HloInstruction* now_;
  Affine affine_;  // of what comes after the last of the steps
  Epilogue found_;
};

}  // namespace

Epilogue epilogue_of(HloInstruction* result, int64_t channels, bool through_reshapes) {
  if (result->shape().element_type() != xla::F32) return {{}, {}, result};
  return Walk(result, channels, through_reshapes).walked();
}

void replace_steps(const HloInstruction* result, const Epilogue& steps, HloInstruction* value) {
  if (steps.last == result) return;
  xla::HloComputation* computation = steps.last->parent();
  if (computation->root_instruction() == steps.last) computation->set_root_instruction(value);
  check(steps.last->ReplaceAllUsesWith(value), "steps after an operation");
}

}  // namespace hone::xla_side
