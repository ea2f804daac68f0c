#include "decisions/winograd_matrices.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "kernels/winograd_points.h"

namespace hone::xla_side {
namespace {

using Points = std::vector<double>;

Points points_of(int n) {
  const auto& all = kWinogradPoints.at(n);
  return Points(all.begin(), all.begin() + std::max(n - 1, 0));
}

// Coefficients, lowest power first, of the product of (x - point) over all points but number `skipped`.
std::vector<double> product(const Points& points, int skipped) {
  std::vector<double> coefficients = {1};
  for (int l = 0; l < static_cast<int>(points.size()); ++l) {
    if (l == skipped) continue;
    std::vector<double> longer(coefficients.size() + 1, 0);
    for (size_t i = 0; i < coefficients.size(); ++i) {
      longer[i] -= points[l] * coefficients[i];
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
  const Points points = points_of(n);
  WinogradMatrices found{.at = Matrix(m, std::vector<double>(n, 0)),
                         .g = Matrix(n, std::vector<double>(r, 0)),
                         .bt = Matrix(n, std::vector<double>(n, 0))};
  for (int j = 0; j < finite; ++j) {
    double scale = 1;
    for (int l = 0; l < finite; ++l)
      if (l != j) scale *= points[j] - points[l];
    for (int i = 0; i < m; ++i) found.at[i][j] = std::pow(points[j], i);
    for (int k = 0; k < r; ++k) found.g[j][k] = std::pow(points[j], k) / scale;
    const std::vector<double> row = product(points, j);
    std::copy(row.begin(), row.end(), found.bt[j].begin());
  }
  found.at[m - 1][finite] = found.g[finite][r - 1] = 1;
  found.bt[finite] = product(points, -1);
  return found;
}

}  // namespace hone::xla_side
