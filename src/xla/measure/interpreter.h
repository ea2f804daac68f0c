// Outputs of XLA's HLO interpreter, which is slow and independent of XLA:CPU.
#pragma once
#include <string>
#include <vector>

#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace hone::xla_side {

// It sums in another order and rounds differently: outputs may differ by so much more than those of two ways to compile.
inline constexpr double kInterpreterTolerance = 16;

struct Interpreted {
  std::vector<xla::Literal> outputs;  // leaves, as Program::run_outputs()
  std::string why;                    // it did not run; empty if it did
};

// Programs of more floating-point operations than the interpreter runs in two seconds are left out, all steps of loops counted where XLA
// knows their number. `with_data`: moving numbers counts as well.
Interpreted interpret(const xla::HloModule& program, const std::vector<xla::Literal>& inputs, bool with_data);

}  // namespace hone::xla_side
