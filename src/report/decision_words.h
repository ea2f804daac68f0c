// Decisions as sentences for people: "transposed add: tile 8×8 instead of 1×128, 2.2× faster".
#pragma once

#include <set>
#include <string>
#include <vector>

#include "report/report.h"

namespace hone::report {

// "transpose_add_fusion.1" -> "transposed add", "wrapped_reduce" -> "reduce", "dot.3" -> "dot". XLA names a fusion after its
// last operations: with `transposes` there is a transpose among the others.
std::string kernel_in_words(const std::string& name, bool transposes = false);

// An option of a kernel or another value of a decision: "tile=8,8" -> "tile 8×8", "loop;slp=0" -> "plain loops without SLP
// vectorisation", "ynn" -> "YNNPACK". "default" stays what XLA does: its own tile where `default_tile` names one.
std::string value_in_words(const std::string& value, const std::string& default_tile = "");

struct DecisionWords {
  DecisionKind kind{};
  std::string text;    // the sentence, without what it gained
  std::string kernel;  // name of the kernel it is about, for telling equal sentences apart; else empty
  double gain = 0;     // of the kernel, or of the step that brought it, over what was best before; 0 = not known alone
  double share = 0;    // of the program's time the kernel had under default XLA
};

// One entry per decision of the report: those with the largest effect on the program first. `transposing` are the
// fingerprints of kernels with a transpose inside.
std::vector<DecisionWords> decisions_in_words(const TuneReport& report, const std::set<std::string>& transposing = {});

}  // namespace hone::report
