// Convolutions with strides or dilation of the window as convolutions without, which Winograd's method can compute. With strides of s
// each s-th row and column of the input (a phase) meets each s-th row and column of the window: a sum over the phases. With dilation
// of d each phase of the result reads one phase of the input alone: a convolution of d x d times as many, smaller images.
#pragma once

#include <string>
#include <vector>

#include "graph/winograd_form.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

// "split-winograd=4" and the like; empty for anything but convolutions of floats over one or two spatial dimensions without groups, with
// strides or dilation of the window but not both, of whose parts at least one can be computed by Winograd's method.
std::vector<std::string> split_forms(const xla::HloInstruction& op);

// Whether the form can compute this convolution.
bool has_split(const xla::HloInstruction& op, int tile);

// Adds the arithmetic that replaces the convolution to its computation, and returns the result. Only where has_split.
xla::HloInstruction* split_convolution(xla::HloInstruction* conv, const WinogradForm& form);

}  // namespace hone::xla_side
