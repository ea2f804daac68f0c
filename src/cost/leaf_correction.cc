#include "cost/leaf_correction.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/stats.h"

namespace hone::cost {
namespace {

constexpr double kSmoothing = 0.2;   // chosen on validation programs
constexpr double kMostResidual = 2;  // a logarithm: beyond it a measurement counts as a disturbed one

// The lower triangle L of L L^T = matrix [n, n], symmetric and positive definite (Cholesky).
std::vector<double> lower_triangle(std::vector<double> matrix, size_t n) {
  for (size_t j = 0; j < n; ++j)
    for (size_t i = j; i < n; ++i) {
      double sum = matrix[i * n + j];
      for (size_t k = 0; k < j; ++k) sum -= matrix[i * n + k] * matrix[j * n + k];
      matrix[i * n + j] = i == j ? std::sqrt(sum) : sum / matrix[j * n + j];
    }
  return matrix;
}

// x of L L^T x = right.
std::vector<double> solved(const std::vector<double>& lower, size_t n, std::vector<double> right) {
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) right[i] -= lower[i * n + k] * right[k];
    right[i] /= lower[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) right[i] -= lower[k * n + i] * right[k];
    right[i] /= lower[i * n + i];
  }
  return right;
}

}  // namespace

LeafCorrection::LeafCorrection(std::vector<const Trees*> members, std::span<const float> rows,
                               std::span<const double> log_ratios)
    : members_(std::move(members)) {
  const size_t n = log_ratios.size();
  if (n < 2 || rows.size() % n != 0) throw InternalError("a correction by kernels of other rows");
  for (const Trees* member : members_) trees_ += member->size();
  const size_t width = rows.size() / n;
  for (size_t i = 0; i < n; ++i) {
    const std::vector<uint16_t> leaves = leaves_of(rows.subspan(i * width, width));
    leaves_.insert(leaves_.end(), leaves.begin(), leaves.end());
  }
  middle_ = median({log_ratios.begin(), log_ratios.end()});
  std::vector<double> left, gram(n * n);
  for (const double ratio : log_ratios) {
    left.push_back(std::clamp(ratio - middle_, -kMostResidual, kMostResidual));
    error_ += std::abs(ratio) / static_cast<double>(n);
  }
  const std::span<const uint16_t> all = leaves_;
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j)
      gram[i * n + j] = gram[j * n + i] =
          shared(all.subspan(i * trees_, trees_), all.subspan(j * trees_, trees_)) + (i == j ? kSmoothing : 0);
  const std::vector<double> lower = lower_triangle(std::move(gram), n);
  weights_ = solved(lower, n, left);
  for (size_t i = 0; i < n; ++i) {  // leave one out, in closed form: the weight over the inverse's diagonal
    std::vector<double> unit(n);
    unit[i] = 1;
    const double beyond = log_ratios[i] - middle_ - left[i];  // what was limited is not corrected
    held_out_error_ += std::abs(beyond + weights_[i] / solved(lower, n, std::move(unit))[i]) / static_cast<double>(n);
  }
}

std::vector<uint16_t> LeafCorrection::leaves_of(std::span<const float> row) const {
  std::vector<uint16_t> leaves;
  leaves.reserve(trees_);
  for (const Trees* member : members_) member->append_leaves(row, leaves);
  return leaves;
}

double LeafCorrection::shared(std::span<const uint16_t> a, std::span<const uint16_t> b) const {
  int same = 0;
  for (size_t t = 0; t < trees_; ++t) same += a[t] == b[t];
  return static_cast<double>(same) / static_cast<double>(trees_);
}

double LeafCorrection::log_factor(std::span<const float> row) const {
  const std::vector<uint16_t> leaves = leaves_of(row);
  double sum = middle_;
  for (size_t i = 0; i < weights_.size(); ++i)
    sum += weights_[i] * shared(std::span(leaves_).subspan(i * trees_, trees_), leaves);
  return sum;
}

}  // namespace hone::cost
