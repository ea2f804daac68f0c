// What a report says of one choice.
#pragma once

#include <string>
#include <vector>

#include "optimize/forms.h"
#include "optimize/guard.h"
#include "tune/kernel/calibration.h"

namespace hone::optimize {

// The model's choice for one kernel.
struct OptimizedKernel {
  std::string fingerprint, name, kind;
  int count = 1, options = 0;
  double share = 0;  // of the program's time, estimated
  DecisionKind decision = DecisionKind::Codegen;
  std::string key, default_value;
  Decisions under;                 // about weights, that come with the chosen form of an operation
  std::vector<std::string> order;  // all options that were ranked, best first
  std::string chosen;              // the default where no change pays off
  std::string transition;          // from the default to the chosen option (calibration.h); empty for the default
  double margin = 0;               // predicted, of the chosen option over the default
  // Expected run time ratio default/chosen; one in ten (of forms one in five) is below gain by more than error.
  double gain = 1, error = 0;
  bool applied = false;
  std::string note;  // why it was not ranked, or why its option was dropped
};

// `share`: of the program's time.
OptimizedKernel described(const Kernel& kernel, double share);
// An operation, still in its default form.
OptimizedKernel described(const Dimension& d, const std::string& kind);
// An operation of a chosen form. A family that changes as one shares its gain.
OptimizedKernel described(const ChosenForm& form, const Decision& decision, const std::vector<Dimension>& dimensions);
OptimizedKernel described(const DuelWinner& won);

// An option that is expected to gain what the threshold says.
void take(const std::string& transition, const tune::AcceptanceThreshold& threshold, const std::string& option,
          double margin, OptimizedKernel& into);

}  // namespace hone::optimize
