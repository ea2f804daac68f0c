// Metrics of predictions (Kaufman et al. 2021, section 5). Plain arithmetic, without torch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone::cost {

// Kendall's tau-b of two rankings, with ties as in Kendall (1945); O(n log n) after Knight (1966). In [-1, 1]; 0 if
// one side is constant or n < 2. Throws InternalError for spans of different length, Error for NaN.
double kendall_tau(std::span<const double> a, std::span<const double> b);

// Mean of 100 |predicted - actual| / actual. Throws InternalError when empty or of different length.
double mean_absolute_percentage_error(std::span<const double> predicted, std::span<const double> actual);

// One kernel's options: a model's predictions (lower = faster, any scale) and the measured run times (ns).
struct RankedKernel {
  std::vector<double> predicted;   // [options]
  std::vector<double> runtime_ns;  // [options]
};

// The best measured run time among the k options that are predicted fastest (ties: the earlier option first), ns.
double best_of_top(const RankedKernel& kernel, int64_t k);

// Tile-Size APE of one program (equation 2): 100 * sum over kernels of (best of the top k - best) / sum of best. k = 1 is
// the paper's. Throws InternalError without kernels.
double tile_size_ape(std::span<const RankedKernel> kernels, int64_t k = 1);

// Of the pairs of options whose run times differ by kDistinguishable or more: those in the right order less those in the wrong one, over
// their number; equal predictions count as neither. Closer pairs are in another order when they are measured again
// (docs/reference/dataset.md). 0 where there is no such pair.
inline constexpr double kDistinguishable = 1.1;
double tau_of_distinguishable(const RankedKernel& kernel);
// The mean over the kernels that have such a pair; 0 if there is none.
double mean_tau_of_distinguishable(std::span<const RankedKernel> kernels);

// Mean of kendall_tau over the kernels with at least two options; 0 if there is none.
double mean_kendall_tau(std::span<const RankedKernel> kernels);

}  // namespace hone::cost
