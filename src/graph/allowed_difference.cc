#include "graph/allowed_difference.h"

#include <algorithm>

namespace hone {

namespace {

// May put NaN and infinities elsewhere: Winograd's method adds up all inputs of a tile; XLA:CPU multiplies the zeros of a padding by
// infinite weights, or not, as the layout has it; oneDNN's ReLU takes NaN for 0.
bool moves_special_values(const Decision& d) {
  if (d.kind == DecisionKind::Layout) return true;
  if (d.kind != DecisionKind::Rewrite) return false;
  return d.key.starts_with("convolution:") || d.value.starts_with("onednn");
}

bool is_fast_math(const Decision& d) { return d.kind == DecisionKind::Option && d.key == "fast_math"; }

}  // namespace

bool allows_difference(const Decisions& decisions, InputKind inputs, bool special_alone) {
  if (inputs == InputKind::Ordinary) return false;
  if (inputs == InputKind::Denormal) return true;  // flushed or not, by every kernel as its code has it
  if (std::any_of(decisions.begin(), decisions.end(), is_fast_math)) return true;
  if (inputs == InputKind::Large && special_alone) return true;  // what overflows depends on the order of a sum
  return inputs == InputKind::Special && special_alone &&
         std::any_of(decisions.begin(), decisions.end(), moves_special_values);
}

}  // namespace hone
