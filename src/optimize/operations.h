// Forms of single operations that are taken without measuring.
#pragma once

#include <vector>

#include "cost/operation_ranker.h"
#include "optimize/described.h"
#include "tune/kernel/calibration.h"

namespace hone::optimize {

// Rewrites are not ranked: each operation has one alternative, which according to the calibration pays off above a
// size.
std::vector<OptimizedKernel> choose_rewrites(const std::vector<Dimension>& dimensions, const tune::Calibration& gains);

// The form of an operation that is surely faster, the one of the largest sure gain. Where its weights are declared, they may become
// constants, which are transformed before the program runs.
OptimizedKernel choose_form(const Dimension& d, const cost::OperationRanker& ranker);

// A lower bound of each of its forms is known for machines of this class.
bool is_calibrated(const Dimension& d, const cost::OperationRanker& ranker);

}  // namespace hone::optimize
