#include "decisions/activations.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <set>
#include <vector>

#include "decisions/splat.h"
#include "xla/comparison_util.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

constexpr size_t kMostMembers = 160;  // JAX's GELU by the complement of erf takes 80
constexpr int kMostResults = 8;       // that are tried

using Values = std::vector<double>;

// ---- what a program computes

bool compared(xla::ComparisonDirection direction, double a, double b) {
  switch (direction) {
    case xla::ComparisonDirection::kLt:
      return a < b;
    case xla::ComparisonDirection::kLe:
      return a <= b;
    case xla::ComparisonDirection::kGt:
      return a > b;
    case xla::ComparisonDirection::kGe:
      return a >= b;
    case xla::ComparisonDirection::kEq:
      return a == b;
    case xla::ComparisonDirection::kNe:
      return a != b;
  }
  return false;
}

// Evaluates one operation at all numbers; truth values are 1 and 0. Returns false for operations that are not supported.
bool applied(const HloInstruction& op, const std::vector<const Values*>& x, Values& result) {
  const auto each = [&](auto f) {
    for (size_t i = 0; i < result.size(); ++i) result[i] = f(i);
    return true;
  };
  const auto unary = [&](auto f) { return each([&](size_t i) { return f((*x[0])[i]); }); };
  const auto binary = [&](auto f) { return each([&](size_t i) { return f((*x[0])[i], (*x[1])[i]); }); };
  switch (op.opcode()) {
    case HloOpcode::kAdd:
      return binary(std::plus<>());
    case HloOpcode::kSubtract:
      return binary(std::minus<>());
    case HloOpcode::kMultiply:
      return binary(std::multiplies<>());
    case HloOpcode::kDivide:
      return binary(std::divides<>());
    case HloOpcode::kMaximum:
      return binary([](double a, double b) { return std::max(a, b); });
    case HloOpcode::kMinimum:
      return binary([](double a, double b) { return std::min(a, b); });
    case HloOpcode::kPower:
      return binary([](double a, double b) { return std::pow(a, b); });
    case HloOpcode::kNegate:
      return unary(std::negate<>());
    case HloOpcode::kAbs:
      return unary([](double a) { return std::abs(a); });
    case HloOpcode::kExp:
      return unary([](double a) { return std::exp(a); });
    case HloOpcode::kExpm1:
      return unary([](double a) { return std::expm1(a); });
    case HloOpcode::kLog:
      return unary([](double a) { return std::log(a); });
    case HloOpcode::kLog1p:
      return unary([](double a) { return std::log1p(a); });
    case HloOpcode::kTanh:
      return unary([](double a) { return std::tanh(a); });
    case HloOpcode::kErf:
      return unary([](double a) { return std::erf(a); });
    case HloOpcode::kLogistic:
      return unary([](double a) { return 1 / (1 + std::exp(-a)); });
    case HloOpcode::kClamp:
      return each([&](size_t i) { return std::min(std::max((*x[1])[i], (*x[0])[i]), (*x[2])[i]); });
    case HloOpcode::kSelect:
      return each([&](size_t i) { return (*x[0])[i] != 0 ? (*x[1])[i] : (*x[2])[i]; });
    case HloOpcode::kCompare:
      return binary([&](double a, double b) { return compared(op.comparison_direction(), a, b) ? 1.0 : 0.0; });
    default:
      return false;
  }
}

// What is computed of one value and constants alone, in an order in which operands come first.
class Region {
 public:
  Region(HloInstruction* value, const Values& at) : value_(value) {
    values_[value] = at;
    std::vector<HloInstruction*> left(value->users().begin(), value->users().end());
    while (!left.empty() && members_.size() < kMostMembers) {
      HloInstruction* one = left.back();
      left.pop_back();
      if (values_.contains(one) || !added(one)) continue;
      members_.push_back(one);
      left.insert(left.end(), one->users().begin(), one->users().end());
    }
  }

  const std::vector<HloInstruction*>& members() const { return members_; }
  const Values& values(const HloInstruction* member) const { return values_.at(member); }

  // Whether all that lies between the value and this result is used for the result alone.
  bool ends_in(const HloInstruction* result) const {
    std::set<const HloInstruction*> within = {result};
    for (auto m = members_.rbegin(); m != members_.rend(); ++m)
      if (std::any_of((*m)->users().begin(), (*m)->users().end(), [&](auto* user) { return within.contains(user); }))
        within.insert(*m);
    within.insert(value_);
    const HloInstruction* root = value_->parent()->root_instruction();
    return std::all_of(within.begin(), within.end(), [&](const HloInstruction* one) {
      return one == result || (one != root && std::all_of(one->users().begin(), one->users().end(),
                                                          [&](auto* user) { return within.contains(user); }));
    });
  }

 private:
  bool added(HloInstruction* one) {
    const xla::PrimitiveType type = one->shape().element_type();
    if (!one->shape().IsArray() || (type != xla::F32 && type != xla::PRED) ||
        !xla::ShapeUtil::SameDimensions(one->shape(), value_->shape()))
      return false;
    std::vector<const Values*> operands;
    for (const HloInstruction* operand : one->operands()) {
      if (!values_.contains(operand)) {
        const HloInstruction* splat = splat_of(operand);
        if (splat == nullptr || splat->shape().element_type() != xla::F32) return false;
        values_[operand] = Values(values_[value_].size(), splat->literal().data<float>()[0]);
      }
      operands.push_back(&values_.at(operand));
    }
    Values result(values_[value_].size());
    if (!applied(*one, operands, result)) return false;
    values_[one] = std::move(result);
    return true;
  }

  HloInstruction* value_;
  std::vector<HloInstruction*> members_;
  std::map<const HloInstruction*, Values> values_;
};

// ---- what it is

constexpr size_t kOne = 0, kMinusOne = 1, kFarBelow = 2;  // places of these numbers

const Values& numbers() {
  static const Values all = [] {
    Values numbers = {1, -1, -40};
    for (int i = -768; i <= 768; ++i) numbers.push_back(i / 32.0);
    for (int power = -40; power <= 40; ++power)
      for (const double factor : {1.0, -1.0, 1.37, -1.37}) numbers.push_back(std::ldexp(factor, power));
    return numbers;
  }();
  return all;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// oneDNN's definitions.
struct Known {
  const char* name;
  double (*function)(double x, double alpha);
  double (*alpha)(const Values& y);  // of a function of this kind that has these values
  double beta = 0;
};

constexpr auto kOneAlpha = [](const Values&) { return 1.0; };
constexpr Known kKnown[] = {
    {"logistic", [](double x, double) { return logistic(x); }, kOneAlpha},
    {"swish", [](double x, double alpha) { return x * logistic(alpha * x); },
     [](const Values& y) { return std::log(y[kOne] / (1 - y[kOne])); }},
    {"gelu_erf", [](double x, double) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2)); }, kOneAlpha},
    {"gelu_tanh",
     [](double x, double) {
       return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
     },
     kOneAlpha},
    {"hardswish", [](double x, double alpha) { return x * std::clamp(alpha * x + 0.5, 0.0, 1.0); },
     [](const Values&) { return 1.0 / 6; }, 0.5},
    {"relu", [](double x, double alpha) { return x > 0 ? x : alpha * x; },
     [](const Values& y) { return -y[kMinusOne]; }},
    {"elu", [](double x, double alpha) { return x > 0 ? x : alpha * std::expm1(x); },
     [](const Values& y) { return -y[kFarBelow]; }},
    {"soft_relu", [](double x, double) { return softplus(x); }, kOneAlpha},
    {"mish", [](double x, double) { return x * std::tanh(softplus(x)); }, kOneAlpha},
};

// Programs write some of them with polynomials in place of functions.
bool same(double known, double given, double x) {
  return std::abs(known - given) <= 1e-5 * std::abs(known) + 1e-6 * std::min(1.0, std::abs(x));
}

std::optional<PostOp> known_by(const Values& y) {
  for (const Known& known : kKnown) {
    const double alpha = known.alpha(y);
    bool is_it = std::isfinite(alpha) && alpha != 0;  // ReLU itself is a bound, which others join
    for (size_t i = 0; is_it && i < y.size(); ++i)
      is_it = same(known.function(numbers()[i], alpha), y[i], numbers()[i]);
    if (is_it) return PostOp{known.name, PostOperand::None, alpha, known.beta};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Activation> activation_of(HloInstruction* value) {
  if (value->shape().element_type() != xla::F32 || value == value->parent()->root_instruction()) return std::nullopt;
  const Region region(value, numbers());
  int tried = 0;
  for (HloInstruction* result : region.members()) {
    const HloOpcode opcode = result->opcode();
    if (opcode != HloOpcode::kMultiply && opcode != HloOpcode::kDivide && opcode != HloOpcode::kSelect &&
        opcode != HloOpcode::kAdd && opcode != HloOpcode::kMaximum)
      continue;
    if (!region.ends_in(result)) continue;
    if (const auto step = known_by(region.values(result))) return Activation{*step, result};
    if (++tried == kMostResults) break;
  }
  return std::nullopt;
}

}  // namespace hone::xla_side
