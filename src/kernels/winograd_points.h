// Where Winograd's method evaluates polynomials: the transforms of weights (xla/decisions) and those of kernels agree on it.
#pragma once

#include <array>
#include <cstddef>

namespace hone {

inline constexpr int kMostWinogradReach = 8;  // inputs of a tile and dimension

// By reach; besides these, infinity. For 5 and more those of the smallest error in f32 among multiples of 1/8 up to 2, by
// experiment (docs/results/operations.md): with 0, +-1, +-2, ... it is up to four times as large.
inline constexpr std::array<std::array<double, kMostWinogradReach - 1>, kMostWinogradReach + 1> kWinogradPoints = {{
    {},
    {},
    {0},
    {0, 1},
    {0, 1, -1},
    {0, 0.75, -0.75, -1.75},
    {0, 0.75, -0.75, 1.5, -1.5},
    {0, 0.875, -0.875, 1.75, -1.75, 0.5},
    {0, 0.5, -0.5, 1, -1, 1.75, -1.75},
}};

}  // namespace hone
