// The interface of learned models of kernels' run times.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace hone::cost {

// A trained network with its scaler. Predictions of a model trained to rank only order the options of one kernel; those of
// a model trained on run times are in ns.
class LearnedModel {
 public:
  virtual ~LearnedModel() = default;
  virtual std::string name() const = 0;
  virtual std::string task() const = 0;       // "tile" or "fusion"
  virtual bool predicts_runtime() const = 0;  // ns, not a score
  // Scores whose differences within a kernel are logarithms of ratios of run times: trained with the loss "ratio".
  virtual bool predicts_ratios() const { return false; }
  // From now on predicts by its trees alone, where networks are beside them (tree_model.h).
  virtual void leave_out_networks() {}
  // One number per option of the kernel, lower = faster; run times of the view are not read. Throws Error if widths do
  // not match the weights.
  virtual std::vector<double> predict(const KernelView& kernel) = 0;
  // The same for several kernels, faster where a model has a use for them all at once.
  virtual std::vector<std::vector<double>> predict_all(std::span<const KernelView> kernels) {
    std::vector<std::vector<double>> all;
    for (const KernelView& kernel : kernels) all.push_back(predict(kernel));
    return all;
  }
};

}  // namespace hone::cost
