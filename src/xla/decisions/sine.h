// Sine and cosine of large arrays by polynomials that are vectorized.
#pragma once

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

inline constexpr char kPolynomial[] = "polynomial";

// Of f32, of 4,096 elements and more.
bool is_large_sine(const xla::HloInstruction& op);

// Where all arguments are below 8,192 in size: the rest of a division by pi / 2 in three parts (Cody and Waite, 1980), and the
// polynomials of Cephes' sinf and cosf (Moshier), within two units in the last place of the largest result; else XLA's own, which
// calls a function for each element. Returns a conditional, in place of the operation.
xla::HloInstruction* polynomial_sine(xla::HloInstruction* op);

}  // namespace hone::xla_side
