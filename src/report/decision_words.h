// Decisions as sentences: "transposed add: tile 8×8 instead of 1×128, 2.2× faster".
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
// vectorisation", "ynn" -> "YNNPACK". "default" is XLA's own choice: its tile if `default_tile` names one.
std::string value_in_words(const std::string& value, const std::string& default_tile = "");

struct DecisionWords {
  DecisionKind kind{};
  std::string text;    // the sentence without the gain
  std::string kernel;  // name of the kernel it is about, to distinguish equal sentences; else empty
  double gain = 0;     // of the kernel, or of its step over the best before; 0 = not measured alone
  double share = 0;    // of the kernel in the program's time under default XLA
};

// One entry per decision of the report, by effect on the program, largest first. `transposing`: fingerprints of kernels
// with a transpose inside.
std::vector<DecisionWords> decisions_in_words(const TuneReport& report, const std::set<std::string>& transposing = {});

}  // namespace hone::report
