// Activations, however a program writes them: x times half of one plus erf(x / sqrt 2), polynomials in place of erf, clamps, selects.
#pragma once

#include <optional>

#include "kernels/dnnl_plan.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

struct Activation {
  PostOp step;
  xla::HloInstruction* result = nullptr;
};

// The nearest value that is computed of this one and constants alone, element by element, if nothing else uses what lies between and it
// is an activation that oneDNN has: logistic, swish, GELU by erf and by tanh, hard-swish, leaky ReLU, ELU, softplus, Mish. Known by its
// values: within 1e-5 of the activation at 1,800 numbers from 2^-40 to 2^40 of both signs. f32.
std::optional<Activation> activation_of(xla::HloInstruction* value);

}  // namespace hone::xla_side
