#include "decisions/softmax_scores.h"

#include <limits>
#include <numeric>

#include "decisions/splat.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

constexpr int kMostScoreSteps = 8;

std::optional<float> number_of(const HloInstruction* value) {
  const HloInstruction* constant = splat_of(value);
  if (constant == nullptr || constant->shape().element_type() != xla::F32) return std::nullopt;
  return constant->literal().GetFirstElement<float>();
}

// The dimensions of a reshape's operand that its result's are, if only dimensions of one element come and go.
std::optional<std::vector<int64_t>> through_reshape(const HloInstruction& reshape) {
  const auto &to = reshape.shape().dimensions(), &from = reshape.operand(0)->shape().dimensions();
  std::vector<int64_t> at(to.size(), -1);
  size_t f = 0;
  for (size_t t = 0; t < to.size(); ++t) {
    if (to[t] == 1) continue;
    while (f < from.size() && from[f] == 1) ++f;
    if (f == from.size() || from[f] != to[t]) return std::nullopt;
    at[t] = static_cast<int64_t>(f++);
  }
  while (f < from.size() && from[f] == 1) ++f;
  if (f != from.size()) return std::nullopt;
  return at;
}

// The number of a product or quotient of a value and a number; the operand that is not the number.
std::optional<std::pair<float, HloInstruction*>> scaling(HloInstruction* value) {
  if (value->opcode() == HloOpcode::kMultiply)
    for (int i : {0, 1})
      if (const auto number = number_of(value->operand(i))) return {{*number, value->mutable_operand(1 - i)}};
  if (value->opcode() == HloOpcode::kDivide)
    if (const auto number = number_of(value->operand(1))) return {{1 / *number, value->mutable_operand(0)}};
  return std::nullopt;
}

void follow(TracedValue& traced, const std::vector<int64_t>& map) {
  for (int64_t& d : traced.dimensions) d = d < 0 ? -1 : map[d];
  traced.value = traced.value->mutable_operand(0);
}

// One step back where elements keep their values.
bool follow_order(TracedValue& traced) {
  const HloInstruction& value = *traced.value;
  std::vector<int64_t> map(value.shape().dimensions().size());
  switch (value.opcode()) {
    case HloOpcode::kTranspose:
      map.assign(value.dimensions().begin(), value.dimensions().end());
      break;
    case HloOpcode::kBroadcast:
      std::fill(map.begin(), map.end(), -1);
      for (size_t i = 0; i < value.dimensions().size(); ++i) map[value.dimensions(i)] = static_cast<int64_t>(i);
      break;
    case HloOpcode::kReshape: {
      const auto through = through_reshape(value);
      if (!through) return false;
      map = *through;
      break;
    }
    case HloOpcode::kCopy:
      std::iota(map.begin(), map.end(), 0);
      break;
    case HloOpcode::kConvert:
      if (value.operand(0)->shape().element_type() != value.shape().element_type()) return false;
      std::iota(map.begin(), map.end(), 0);
      break;
    default:
      return false;
  }
  follow(traced, map);
  return true;
}

// Back through other orders of the same elements.
TracedValue reordered(HloInstruction* value) {
  TracedValue at = itself(value);
  while (at.value->opcode() != HloOpcode::kBroadcast && follow_order(at)) continue;
  return at;
}

bool is_of_parameters(const HloInstruction& root, HloOpcode opcode) {
  return root.opcode() == opcode && root.operand(0)->opcode() == HloOpcode::kParameter &&
         root.operand(1)->opcode() == HloOpcode::kParameter && root.operand(0) != root.operand(1);
}

// Whether a value is the reduction of another's dimension `keys`, the same along it and in its place along all others. The
// reduction may have been made of another order of the same elements.
bool is_reduction_of(HloInstruction* value, HloInstruction* other, int64_t keys, HloOpcode opcode, float init) {
  TracedValue at = traced(itself(value));
  while (at.value->opcode() == HloOpcode::kMaximum && opcode == HloOpcode::kMaximum) {
    const int number = number_of(at.value->operand(0)) ? 0 : 1;
    if (number_of(at.value->operand(number)) != init) return false;
    at.value = at.value->mutable_operand(1 - number);
    at = traced(std::move(at));
  }
  HloInstruction& reduce = *at.value;
  if (reduce.opcode() != HloOpcode::kReduce || reduce.operand_count() != 2 || reduce.dimensions().size() != 1 ||
      number_of(reduce.operand(1)) != init || !is_of_parameters(*reduce.to_apply()->root_instruction(), opcode))
    return false;
  const TracedValue reduced = reordered(reduce.mutable_operand(0)), mine = reordered(other);
  const int64_t gone = reduce.dimensions(0);
  if (reduced.value != mine.value || mine.dimensions[keys] < 0 || reduced.dimensions[gone] != mine.dimensions[keys])
    return false;
  for (int64_t d = 0; d < static_cast<int64_t>(at.dimensions.size()); ++d) {
    if (other->shape().dimensions(d) == 1) continue;
    const int64_t place = at.dimensions[d];
    if ((place < 0) != (d == keys)) return false;
    if (d != keys && reduced.dimensions[place + (place >= gone)] != mine.dimensions[d]) return false;
  }
  return true;
}

// Reads the steps of a value, last to first, until a dot.
class ScoreReader {
 public:
  explicit ScoreReader(HloInstruction* scores) : at_(itself(scores)) {}

  bool read(int most) {
    for (; most > 0; --most) {
      while (at_.value->opcode() != HloOpcode::kBroadcast && follow_order(at_)) continue;
      if (at_.value->opcode() == HloOpcode::kDot) return std::reverse(steps_.begin(), steps_.end()), true;
      if (!read_step()) return false;
    }
    return false;
  }
  const TracedValue& dot() const { return at_; }
  const std::vector<TracedStep>& steps() const { return steps_; }

 private:
  bool read_step() {
    HloInstruction* value = at_.value;
    TracedStep step;
    if (const auto scaled = scaling(value)) {
      step.kind = ScoreStep::Multiply;
      step.number = scaled->first;
      at_.value = scaled->second;
    } else if (value->opcode() == HloOpcode::kAdd) {
      const int scores = leads_to_dot(value->operand(0), kMostScoreSteps) ? 0 : 1;
      added(step, value->mutable_operand(1 - scores));
      at_.value = value->mutable_operand(scores);
    } else if (value->opcode() == HloOpcode::kSelect) {
      step.kind = ScoreStep::Keep;
      step.inverse = number_of(value->operand(1)).has_value();
      const auto other = number_of(value->operand(step.inverse ? 1 : 2));
      if (!other || value->operand(0)->shape().dimensions().empty()) return false;
      step.other = *other;
      step.which = of_scores(value->mutable_operand(0));
      at_.value = value->mutable_operand(step.inverse ? 2 : 1);
    } else {
      return false;
    }
    steps_.push_back(std::move(step));
    return true;
  }

  static bool leads_to_dot(const HloInstruction* value, int most) {
    if (most == 0) return false;
    switch (value->opcode()) {
      case HloOpcode::kDot:
        return true;
      case HloOpcode::kTranspose:
      case HloOpcode::kReshape:
      case HloOpcode::kCopy:
      case HloOpcode::kConvert:
        return leads_to_dot(value->operand(0), most - 1);
      case HloOpcode::kMultiply:
      case HloOpcode::kDivide:
      case HloOpcode::kAdd:
        return leads_to_dot(value->operand(0), most - 1) || leads_to_dot(value->operand(1), most - 1);
      case HloOpcode::kSelect:
        return leads_to_dot(value->operand(1), most - 1) || leads_to_dot(value->operand(2), most - 1);
      default:
        return false;
    }
  }

  // Of an operand of a step, the array over the scores' dimensions.
  TracedValue of_scores(HloInstruction* operand) { return traced({operand, at_.dimensions}); }

  // What is added: a number, an array, or by a mask either and a number.
  void added(TracedStep& step, HloInstruction* operand) {
    if (const auto number = number_of(operand)) {
      step.number = *number;
      return;
    }
    TracedValue array = of_scores(operand);
    const HloInstruction& chosen = *array.value;
    const bool chooses = chosen.opcode() == HloOpcode::kSelect && !chosen.operand(0)->shape().dimensions().empty();
    const auto number = [&](int i) { return chooses ? number_of(chosen.operand(i)) : std::nullopt; };
    if (const int at = number(2) ? 2 : number(1) ? 1 : 0; at != 0) {
      step.inverse = at == 1;
      step.other = *number(at);
      step.which = traced({array.value->mutable_operand(0), array.dimensions});
      if (const auto both = number(3 - at))
        step.number = *both;
      else
        step.values = traced({array.value->mutable_operand(3 - at), array.dimensions});
    } else {
      step.values = std::move(array);
    }
  }

  TracedValue at_;
  std::vector<TracedStep> steps_;
};

}  // namespace

TracedValue itself(HloInstruction* value) {
  TracedValue whole{value, std::vector<int64_t>(value->shape().dimensions().size())};
  std::iota(whole.dimensions.begin(), whole.dimensions.end(), 0);
  return whole;
}

TracedValue traced(TracedValue from, bool scaled) {
  for (;;) {
    if (follow_order(from)) continue;
    const auto by = scaled ? scaling(from.value) : std::nullopt;
    if (!by) return from;
    from.factor *= by->first;
    from.value = by->second;
  }
}

std::optional<SoftmaxScores> softmax_scores(HloInstruction* quotient, int64_t keys) {
  constexpr float kLeast = -std::numeric_limits<float>::infinity();
  HloInstruction* dividend = quotient->mutable_operand(0);
  if (dividend->opcode() != HloOpcode::kExp || dividend->operand(0)->opcode() != HloOpcode::kSubtract ||
      quotient->shape().element_type() != xla::F32 ||
      !is_reduction_of(quotient->mutable_operand(1), dividend, keys, HloOpcode::kAdd, 0))
    return std::nullopt;
  HloInstruction *difference = dividend->mutable_operand(0), *scores = difference->mutable_operand(0);
  if (!is_reduction_of(difference->mutable_operand(1), scores, keys, HloOpcode::kMaximum, kLeast)) return std::nullopt;
  ScoreReader reader(scores);
  if (!reader.read(kMostScoreSteps)) return std::nullopt;
  return SoftmaxScores{keys, reader.dot(), reader.steps()};
}

}  // namespace hone::xla_side
