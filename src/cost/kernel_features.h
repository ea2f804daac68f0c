// What one kernel does with one of its options, as numbers for trees (cost/trees.h): how often each kind of operation runs, driven by
// the outputs and with recomputation, how its loops walk through memory, and the counts of the analytical model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cost/loop_nest.h"
#include "data/kernel_view.h"
#include "features/cpu.h"

namespace hone::cost {

// In the order of KernelFeatures::of(), kernel_features.def.
const std::vector<std::string>& kernel_feature_names();

class KernelFeatures {
 public:
  // Throws Error if the view's widths differ from those of the feature tables.
  KernelFeatures(const KernelView& kernel, const features::Cpu& cpu);

  // Appends the features of an option, a row of KernelView::tiles. Returns its run time by the analytical model with its default
  // coefficients, ns: models predict the logarithm of what is left.
  double append(std::span<const float> option, std::vector<float>& rows) const;

 private:
  LoopNest nest_;
  features::Cpu cpu_;
  std::vector<float> of_kernel_;  // the same for all options
};

}  // namespace hone::cost
