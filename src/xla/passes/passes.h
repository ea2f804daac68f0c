// XLA's own passes by name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/decision.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace hone::xla_side {

enum class PassStanding { Default, Named, Numerics };

struct PassRow {
  const char* name;  // XLA's name(), after a colon the option set
  const char* group;
  PassStanding standing;
  const char* meaning;  // one line
  const char* why;      // reason why it is not a default action; empty when it is
  std::function<std::unique_ptr<xla::HloPassInterface>()> make;
};
const std::vector<PassRow>& passes();                // in the order of passes.def
const PassRow& pass_named(const std::string& name);  // throws Error

struct PassRun {
  bool changed = false;  // as reported by the pass, or if the number of instructions changed
  double ms = 0;
  std::string error;  // empty = none; otherwise the module may be invalid
};
// XLA may also abort.
PassRun run_pass(const PassRow& pass, xla::HloModule& module);

// The error XLA's verifier finds; empty = none.
std::string verify(xla::HloModule& module);

// Runs the passes of a decision of kind Pass (its value: names separated by commas), in order. Throws Error for unknown
// names, RunError when a pass fails.
void run_pass_decisions(xla::HloModule& module, const Decisions& decisions);

}  // namespace hone::xla_side
