// A kernel's run time as a sum of work: nanoseconds for each instruction of a kind that runs, each access and each byte (work_terms.def), or,
// before it is compiled, for each operation and byte of its HLO (kernel_work_terms.def), none of them negative, learnt by reweighted
// least squares of the relative error (scripts/work_model.py). Alone it is off by a quarter to a third, by HLO by two fifths. Trees for
// run times predict what is left, and are told what share of the sum each term has, which logarithms of counts do not show.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

namespace hone::cost {

// The last is the constant of each kernel.
const std::vector<std::string>& work_term_names();         // of compiled kernels
const std::vector<std::string>& kernel_work_term_names();  // of their HLO
// Of sums over HLO, most_ratio: fewer than one training kernel in a thousand is beyond, and a sum that is, is not believed.
inline constexpr double kMostOverAnalytical = 20;
// What append() adds: "work_over_analytical" and "share_of_TERM" for each term.
std::vector<std::string> work_feature_names(const std::vector<std::string>& terms);

class WorkModel {
 public:
  // `weights`: ns, in the order of the terms. `features`: the names of the rows' columns, all terms but the constant among them. Throws
  // Error for another number of weights and for such that are negative or no numbers. `most_ratio`: the sum counts as at most so many times
  // the analytical estimate.
  WorkModel(std::vector<float> weights, const std::vector<std::string>& terms, const std::vector<std::string>& features,
            double most_ratio = std::numeric_limits<double>::infinity());

  // Appends the logarithm of the sum over `analytical_ns` and the share of each term to the last row of `rows`, which begins at `begin`.
  // Returns the sum, ns, at least 1.
  double append(double analytical_ns, std::vector<float>& rows, size_t begin = 0) const;

  bool operator==(const WorkModel& other) const { return weights_ == other.weights_; }

 private:
  std::vector<float> weights_;
  std::vector<size_t> columns_;  // of the terms but for the last
  double most_ratio_;
};

}  // namespace hone::cost
