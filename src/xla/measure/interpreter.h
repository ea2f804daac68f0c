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

// Programs that would take the interpreter more than three seconds, as interpreter_seconds() estimates, are left out.
Interpreted interpret(const xla::HloModule& program, const std::vector<xla::Literal>& inputs);

// How long interpret() would take; 0 for a program that it does not run.
double seconds_to_interpret(const xla::HloModule& program);

}  // namespace hone::xla_side
