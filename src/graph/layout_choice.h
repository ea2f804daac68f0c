// The value of a decision of kind Layout: the layouts of one instruction's result and operands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/decision.h"

namespace hone {

// Axes from the fastest to the slowest of each tensor; empty = left to XLA. `input` is operand 0, `kernel` operand 1 (of
// a dot or a convolution).
struct LayoutChoice {
  std::vector<int64_t> output, input, kernel;
  bool is_default() const { return output.empty() && input.empty() && kernel.empty(); }
  bool operator==(const LayoutChoice&) const = default;
};

inline constexpr char kDefaultLayout[] = "default";

// "output/input/kernel": "-/0,1/-", or "default".
std::string to_text(const LayoutChoice& choice);
// The inverse. Throws Error for text of another form and for lists that are not a permutation of 0, 1, ...
LayoutChoice layout_choice_from_text(const std::string& text);

// Operations whose layouts the rankers and the collected data sets are about: dots, convolutions, reshapes, transposes. `opcode`: as XLA
// writes it.
bool is_in_layout_data_sets(std::string_view opcode);

}  // namespace hone
