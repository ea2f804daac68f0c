// Gradients of a convolution's weights by Winograd's method. They are convolutions whose window is the gradient of the result, nearly as
// large as the image, and whose result is as small as the weights. With the roles of window and result exchanged, F(r x r, m x m): the
// window is cut into tiles of m x m, and products are summed over all tiles before they are transformed into the result.
#pragma once

#include <string>
#include <vector>

#include "graph/winograd_form.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

// The forms by estimated time; empty for anything but a convolution of floats over one or two spatial dimensions without groups, strides
// and dilation, whose window is at least twice as large as its result in each dimension of more than one result. Where an image is
// small, the window of a forward convolution is larger than its result, too: such keep their own forms (winograd_forms.h).
std::vector<std::string> gradient_forms(const xla::HloInstruction& op);

// Whether the form can compute this convolution.
bool has_gradient(const xla::HloInstruction& op, int tile);

// Adds the arithmetic that replaces the convolution to its computation, and returns the result. Only where has_gradient.
xla::HloInstruction* winograd_gradient(xla::HloInstruction* conv, const WinogradForm& form);

}  // namespace hone::xla_side
