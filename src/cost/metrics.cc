#include "cost/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace hone::cost {

namespace {

double pairs(double n) { return n * (n - 1) / 2; }

// Sum of pairs(length) over the runs of equal neighbours of a sorted sequence.
template <class Equal>
double tied_pairs(size_t n, Equal equal) {
  double tied = 0;
  for (size_t first = 0; first < n;) {
    size_t last = first + 1;
    while (last < n && equal(first, last)) ++last;
    tied += pairs(static_cast<double>(last - first));
    first = last;
  }
  return tied;
}

// Sorts `values` and returns the number of exchanges of neighbours, which is the number of discordant pairs.
double merge_sort_exchanges(std::vector<double>& values, std::vector<double>& spare, size_t first, size_t last) {
  if (last - first < 2) return 0;
  const size_t middle = first + (last - first) / 2;
  double exchanges =
      merge_sort_exchanges(values, spare, first, middle) + merge_sort_exchanges(values, spare, middle, last);
  size_t left = first, right = middle, out = first;
  while (left < middle || right < last) {
    if (right == last || (left < middle && values[left] <= values[right])) {
      spare[out++] = values[left++];
    } else {
      exchanges += static_cast<double>(middle - left);
      spare[out++] = values[right++];
    }
  }
  std::copy(spare.begin() + first, spare.begin() + last, values.begin() + first);
  return exchanges;
}

}  // namespace

double kendall_tau(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) throw InternalError("kendall_tau: different lengths");
  const size_t n = a.size();
  for (size_t i = 0; i < n; ++i)
    if (std::isnan(a[i]) || std::isnan(b[i])) throw Error("NaN among values to rank", "item " + std::to_string(i));
  if (n < 2) return 0;
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return a[i] != a[j] ? a[i] < a[j] : b[i] < b[j]; });
  std::vector<double> sorted(n), spare(n);
  for (size_t i = 0; i < n; ++i) sorted[i] = b[order[i]];
  const double all = pairs(static_cast<double>(n));
  const double tied_a = tied_pairs(n, [&](size_t i, size_t j) { return a[order[i]] == a[order[j]]; });
  const double tied_both =
      tied_pairs(n, [&](size_t i, size_t j) { return a[order[i]] == a[order[j]] && b[order[i]] == b[order[j]]; });
  const double discordant = merge_sort_exchanges(sorted, spare, 0, n);
  const double tied_b = tied_pairs(n, [&](size_t i, size_t j) { return sorted[i] == sorted[j]; });
  const double scale = std::sqrt((all - tied_a) * (all - tied_b));
  return scale > 0 ? (all - tied_a - tied_b + tied_both - 2 * discordant) / scale : 0;
}

double mean_absolute_percentage_error(std::span<const double> predicted, std::span<const double> actual) {
  if (predicted.size() != actual.size() || actual.empty())
    throw InternalError("MAPE of empty spans or of different lengths");
  double sum = 0;
  for (size_t i = 0; i < actual.size(); ++i) sum += std::abs(predicted[i] - actual[i]) / std::abs(actual[i]);
  return 100 * sum / static_cast<double>(actual.size());
}

double best_of_top(const RankedKernel& kernel, int64_t k) {
  const auto n = static_cast<int64_t>(kernel.predicted.size());
  if (n == 0 || k < 1 || kernel.runtime_ns.size() != kernel.predicted.size())
    throw InternalError("best_of_top: nothing to rank");
  std::vector<int64_t> order(kernel.predicted.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto top = order.begin() + std::min(k, n);
  std::partial_sort(order.begin(), top, order.end(), [&](int64_t i, int64_t j) {
    return kernel.predicted[i] != kernel.predicted[j] ? kernel.predicted[i] < kernel.predicted[j] : i < j;
  });
  double best = kernel.runtime_ns[order[0]];
  for (auto i = order.begin(); i != top; ++i) best = std::min(best, kernel.runtime_ns[*i]);
  return best;
}

double tile_size_ape(std::span<const RankedKernel> kernels, int64_t k) {
  if (kernels.empty()) throw InternalError("tile_size_ape: no kernels");
  double lost = 0, best_sum = 0;
  for (const RankedKernel& kernel : kernels) {
    const double best = *std::min_element(kernel.runtime_ns.begin(), kernel.runtime_ns.end());
    lost += std::abs(best_of_top(kernel, k) - best);
    best_sum += best;
  }
  return 100 * lost / best_sum;
}

namespace {

struct Pairs {
  int64_t count = 0, right = 0, wrong = 0;
  double tau() const { return count == 0 ? 0 : static_cast<double>(right - wrong) / static_cast<double>(count); }
};

Pairs distinguishable_pairs(const RankedKernel& kernel) {
  Pairs pairs;
  for (size_t i = 0; i < kernel.runtime_ns.size(); ++i)
    for (size_t j = 0; j < kernel.runtime_ns.size(); ++j) {
      if (kernel.runtime_ns[i] < kernel.runtime_ns[j] * kDistinguishable) continue;  // i is the slower one
      ++pairs.count;
      pairs.right += kernel.predicted[i] > kernel.predicted[j];
      pairs.wrong += kernel.predicted[i] < kernel.predicted[j];
    }
  return pairs;
}

}  // namespace

double tau_of_distinguishable(const RankedKernel& kernel) { return distinguishable_pairs(kernel).tau(); }

double mean_tau_of_distinguishable(std::span<const RankedKernel> kernels) {
  double sum = 0, count = 0;
  for (const RankedKernel& kernel : kernels) {
    const Pairs pairs = distinguishable_pairs(kernel);
    if (pairs.count == 0) continue;
    sum += pairs.tau();
    count += 1;
  }
  return count > 0 ? sum / count : 0;
}

double mean_kendall_tau(std::span<const RankedKernel> kernels) {
  double sum = 0;
  int64_t counted = 0;
  for (const RankedKernel& kernel : kernels) {
    if (kernel.runtime_ns.size() < 2) continue;
    sum += kendall_tau(kernel.predicted, kernel.runtime_ns);
    ++counted;
  }
  return counted ? sum / static_cast<double>(counted) : 0;
}

}  // namespace hone::cost
