// Which convolutions Winograd's method can compute, and which of its forms are worth trying (graph/winograd_form.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "decisions/winograd_matrices.h"
#include "kernels/winograd_plan.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

inline constexpr int64_t kLeastWinogradFeatures = 8;  // the dots are of this depth and width

// The forms by estimated time; empty for anything but a convolution of floats over one or two spatial dimensions, without groups,
// strides and dilation.
std::vector<std::string> winograd_forms(const xla::HloInstruction& op);

// Those of the least estimated seconds, best first: four at most.
std::vector<std::string> best_forms(std::vector<std::pair<double, std::string>> estimated);

// Multiplications and additions of the convolution as it stands.
double convolution_flops(const xla::HloInstruction& conv);

// A convolution of floats over one or two spatial dimensions, without groups, none of whose arrays is empty.
bool is_dense_convolution(const xla::HloInstruction& op);

// Whether some tile fits, and whether this one does.
bool has_winograd(const xla::HloInstruction& op);
bool fits(const xla::HloInstruction& conv, int tile);
// Whether kernels/winograd.h computes it with this tile.
bool has_kernel(const xla::HloInstruction& conv, int tile);

// One spatial dimension of the rewritten convolution.
struct Axis {
  int64_t in = 1, out = 1, window = 1, low = 0;  // sizes, padding before the first element
  int64_t tile = 1, reach = 1, tiles = 1;        // reach: inputs of a tile
  bool reversed = false;
  WinogradMatrices matrices;
};

Axis axis_of(const xla::HloInstruction& conv, int64_t i, int tile);
WinogradPlanAxis plan_axis(const Axis& axis);

inline int64_t size_of(const xla::HloInstruction* value, int64_t dimension) {
  return value->shape().dimensions(dimension);
}

}  // namespace hone::xla_side
