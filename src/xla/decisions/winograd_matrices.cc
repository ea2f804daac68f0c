#include "decisions/winograd_matrices.h"

#include <array>
#include <cmath>

#include "base/error.h"

namespace hone::xla_side {
namespace {

// Points at which the polynomials are evaluated; the last is infinity.
constexpr std::array<double, kMostWinogradInputs - 1> kPoints = {0, 1, -1, 2, -2, 0.5, -0.5};

// Coefficients, lowest power first, of the product of (x - point) over the first `count` points but number `skipped`.
std::vector<double> product(int count, int skipped) {
  std::vector<double> coefficients = {1};
  for (int l = 0; l < count; ++l) {
    if (l == skipped) continue;
    std::vector<double> longer(coefficients.size() + 1, 0);
    for (size_t i = 0; i < coefficients.size(); ++i) {
      longer[i] -= kPoints[l] * coefficients[i];
      longer[i + 1] += coefficients[i];
    }
    coefficients = std::move(longer);
  }
  return coefficients;
}

}  // namespace

WinogradMatrices winograd_matrices(int m, int r) {
  const int n = m + r - 1, finite = n - 1;
  if (m < 1 || r < 1 || n > kMostWinogradInputs) throw InternalError("no such Winograd transform");
  WinogradMatrices found{.at = Matrix(m, std::vector<double>(n, 0)),
                         .g = Matrix(n, std::vector<double>(r, 0)),
                         .bt = Matrix(n, std::vector<double>(n, 0))};
  for (int j = 0; j < finite; ++j) {
    double scale = 1;
    for (int l = 0; l < finite; ++l)
      if (l != j) scale *= kPoints[j] - kPoints[l];
    for (int i = 0; i < m; ++i) found.at[i][j] = std::pow(kPoints[j], i);
    for (int k = 0; k < r; ++k) found.g[j][k] = std::pow(kPoints[j], k) / scale;
    const std::vector<double> row = product(finite, j);
    std::copy(row.begin(), row.end(), found.bt[j].begin());
  }
  found.at[m - 1][finite] = found.g[finite][r - 1] = 1;
  found.bt[finite] = product(finite, -1);
  return found;
}

}  // namespace hone::xla_side
