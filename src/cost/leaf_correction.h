// Corrects trees on a machine that they have not learnt from, by a few kernels that were measured there: what the trees are wrong by on
// those, they are wrong by on kernels that fall into the same leaves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cost/trees.h"

namespace hone::cost {

// Ridge regression on the residuals less their median, whose kernel is the share of all members' trees in which two kernels fall into
// the same leaf (docs/results/cost-model.md compares it with others).
class LeafCorrection {
 public:
  // `rows`: [kernels, features] as the members take them; `log_ratios`: [kernels], log(measured / predicted run time). The members must
  // outlive this. Throws InternalError for rows that do not fit, and for fewer than 2 kernels.
  LeafCorrection(std::vector<const Trees*> members, std::span<const float> rows, std::span<const double> log_ratios);

  // log(corrected / predicted) of one row.
  double log_factor(std::span<const float> row) const;

  // Means of |log(measured / predicted)| over the measured kernels: as predicted, and corrected by the others (leave one out).
  double error() const { return error_; }
  double held_out_error() const { return held_out_error_; }
  // Whether the others correct a kernel by enough to believe it: on a machine that the trees know they add noise.
  bool helps() const { return held_out_error_ < kBelieved * error_; }
  struct Verdict {
    double error = 0, held_out_error = 0;
    bool helps = false;
  };
  Verdict verdict() const { return {error_, held_out_error_, helps()}; }

 private:
  static constexpr double kBelieved = 0.9;

  std::vector<uint16_t> leaves_of(std::span<const float> row) const;
  double shared(std::span<const uint16_t> a, std::span<const uint16_t> b) const;

  std::vector<const Trees*> members_;
  size_t trees_ = 0;
  std::vector<uint16_t> leaves_;  // [kernels, trees of all members]
  std::vector<double> weights_;   // [kernels]
  double middle_ = 0, error_ = 0, held_out_error_ = 0;
};

}  // namespace hone::cost
