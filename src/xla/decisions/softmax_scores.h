// How the operand of a dot is made by a softmax of another dot's result.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/attention_rows.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

// A value, and how another is made of it by transposes, broadcasts and reshapes: for each dimension of the other, the dimension of
// `value` that it is, or -1 if elements are equal along it.
struct TracedValue {
  xla::HloInstruction* value = nullptr;
  std::vector<int64_t> dimensions;
  float factor = 1;  // that the value is multiplied by
};

// Back through transposes, broadcasts, copies and reshapes that only add or remove dimensions of one element. `scaled`: also through
// products with numbers.
TracedValue traced(TracedValue from, bool scaled = false);
TracedValue itself(xla::HloInstruction* value);

// A step that leads from a dot's result to the scores; arrays are over the scores' dimensions.
struct TracedStep {
  ScoreStep::Kind kind = ScoreStep::Add;
  bool inverse = false;
  std::optional<TracedValue> values, which;
  float number = 0, other = 0;
};

struct SoftmaxScores {
  int64_t keys = 0;               // the dimension that the softmax is over
  TracedValue dot;                // whose result becomes the scores
  std::vector<TracedStep> steps;  // first to last
};

// Of a quotient; nullopt where it is no such softmax.
std::optional<SoftmaxScores> softmax_scores(xla::HloInstruction* quotient, int64_t keys);

}  // namespace hone::xla_side
