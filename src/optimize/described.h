// What a report says of one choice.
#pragma once

#include <string>
#include <vector>

#include "optimize/optimize.h"

namespace hone::optimize {

// `share`: of the program's time.
OptimizedKernel described(const Kernel& kernel, double share);
// An operation, still in its default form.
OptimizedKernel described(const Dimension& d, const std::string& kind);
// An operation of a chosen form. A family that changes as one shares its gain.
OptimizedKernel described(const ChosenForm& form, const Decision& decision, const std::vector<Dimension>& dimensions);
OptimizedKernel described(const ChosenLayout& won);

// An option that is expected to gain what the threshold says.
void take(const std::string& transition, const tune::AcceptanceThreshold& threshold, const std::string& option,
          double margin, OptimizedKernel& into);

}  // namespace hone::optimize
