// The matrices of Winograd's minimal filtering F(m, r), by Toom and Cook's method: y = AT [(G g) * (BT d)] are the m results
// of a filter g of r weights on m + r - 1 inputs d (Lavin and Gray 2015, equation 5).
#pragma once

#include <vector>

namespace hone::xla_side {

using Matrix = std::vector<std::vector<double>>;  // rows

struct WinogradMatrices {
  Matrix at;  // m x n, n = m + r - 1
  Matrix g;   // n x r
  Matrix bt;  // n x n
};

// The largest n: rounding errors grow with the number of points.
inline constexpr int kMostWinogradInputs = 8;

// Throws InternalError where m or r is below 1 or m + r - 1 above kMostWinogradInputs.
WinogradMatrices winograd_matrices(int m, int r);

}  // namespace hone::xla_side
