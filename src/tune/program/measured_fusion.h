// Fusion by kernels that are measured: annealing on predicted run times goes where the model is wrong, since it looks for what is
// predicted fastest. Here it stops after a while; the kernels in which the best configuration so far differs from where the search
// began are run by themselves, a few milliseconds each, and the model is told. Another configuration may be the best then, whose
// kernels follow, and annealing goes on from the first that holds. A kernel's time counts for every configuration that has it, where a
// duel of the whole program tells of one.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tune/program/fusion_model.h"

namespace hone::tune {

struct MeasuredFusionOptions {
  FusionSearchOptions search;  // budget_s: of all
  int64_t most_kernels = 0;    // that are measured; 0 = search_fusion() alone
  // Runs the default option of a kernel: ns, nothing where it cannot be run by itself, so that its prediction stays.
  std::function<std::optional<double>(const Kernel&)> measure;
};

// As search_fusion(), `best` by the run times of measured kernels where they are known.
FusionSearchReport search_measured_fusion(const std::vector<FusionLane>& lanes, const Decisions& base,
                                          const std::vector<Dimension>& edges, FusionModel& model,
                                          const MeasuredFusionOptions& options);

}  // namespace hone::tune
