// The elements a convolution or pooling window reads, as slice and pad instructions.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

using Position = std::vector<int64_t>;  // one index per window dimension

// Of the element types that convolutions and poolings are rewritten for.
bool is_float(const xla::Shape& shape);
// Whether the result and the two first operands have elements.
bool has_elements(const xla::HloInstruction& op);
inline constexpr int64_t kMostSlices = 64;  // that a window is taken apart into: 8 x 8
int64_t window_positions(const xla::Window& window);
// Calls visit(position) for all positions of a box, the last dimension fastest.
void for_each_position(const Position& sizes, const std::function<void(const Position&)>& visit);
// The slice [from, to) of `value` with these steps, added to its computation.
xla::HloInstruction* sliced(xla::HloInstruction* value, const Position& from, const Position& to, const Position& step);
// Whether the window has padding or base dilation.
bool pads(const xla::Window& window);
// Applies a window's padding and base dilation; axes[i] is the dimension of `value` for window dimension i.
xla::HloInstruction* padded(xla::HloInstruction* value, xla::HloInstruction* fill, const xla::Window& window,
                            const Position& axes);

}  // namespace hone::xla_side
