#include "tune/kernel/kernel_moves.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "graph/kernel_option.h"

namespace hone::tune {

namespace {

// Rough single-core rates; only the order of kernels and their budgets depend on them.
constexpr double kBytesPerSecond = 1e10;
constexpr double kFlopsPerSecond = 3e10;
constexpr double kLaunchSeconds = 5e-7;

double estimated_seconds(const Kernel& kernel) {
  return kernel.runs * (kLaunchSeconds + std::max(kernel.bytes / kBytesPerSecond, kernel.flops / kFlopsPerSecond));
}

constexpr double kSmallTile = 1024;  // elements

// One random element out of each of `count` equal parts of `from`.
void add_sample(const std::vector<int>& from, size_t count, Rng& rng, std::vector<int>& to) {
  const size_t strata = std::min(count, from.size());
  for (size_t s = 0; s < strata; ++s) {
    const size_t begin = s * from.size() / strata, end = (s + 1) * from.size() / strata;
    to.push_back(from[begin + rng.below(static_cast<int64_t>(end - begin))]);
  }
}

// The only side in which two tiles differ; -1 when there is none or more than one.
int differing_coordinate(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  if (a.size() != b.size()) return -1;
  int found = -1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (found >= 0) return -1;
    found = static_cast<int>(i);
  }
  return found;
}

}  // namespace

std::vector<int> neighbours(const Dimension& dimension, int option) {
  std::vector<KernelOption> values;
  for (const std::string& text : dimension.options) values.push_back(KernelOption::parse(text));
  const KernelOption& here = values.at(option);
  const size_t rank = here.tile.size();
  std::vector<int> below(rank, -1), above(rank, -1), found;  // nearest option per coordinate
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    const KernelOption& there = values[i];
    if (i == option) continue;
    if (there.emitter == here.emitter && there.tile == here.tile) {
      found.push_back(i);
      continue;
    }
    if (there.flags_text() != here.flags_text()) continue;
    const int axis = differing_coordinate(here.tile, there.tile);
    if (axis < 0) continue;
    const int64_t size = there.tile[axis];
    int& nearest = size < here.tile[axis] ? below[axis] : above[axis];
    const bool closer =
        nearest < 0 || std::llabs(size - here.tile[axis]) < std::llabs(values[nearest].tile[axis] - here.tile[axis]);
    if (closer) nearest = i;
  }
  for (size_t axis = 0; axis < rank; ++axis)
    for (int i : {below[axis], above[axis]})
      if (i >= 0) found.push_back(i);
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<int> first_options(const Dimension& dimension, int samples, Rng& rng) {
  std::vector<int> first, small, large;
  for (int i = 0; i < static_cast<int>(dimension.options.size()); ++i) {
    if (i == dimension.default_option) continue;
    const std::vector<int64_t> tile = KernelOption::parse(dimension.options[i]).tile;
    const double elements = std::accumulate(tile.begin(), tile.end(), 1.0, std::multiplies<>());
    (tile.empty() ? first : elements <= kSmallTile ? small : large).push_back(i);
  }
  const size_t of_large =
      std::min(large.size(), std::max<size_t>(samples / 4, samples - std::min<size_t>(samples, small.size())));
  add_sample(small, samples - of_large, rng, first);
  add_sample(large, of_large, rng, first);
  return first;
}

std::vector<double> kernel_shares(const std::vector<Kernel>& kernels) {
  double known = 0, estimated = 0;
  for (const Kernel& kernel : kernels) {
    if (kernel.dimension.weight > 0)
      known += kernel.dimension.weight;
    else
      estimated += estimated_seconds(kernel);
  }
  // Kernels of unknown weight share the rest, at least 5 %.
  const double left = std::max(0.05, 1 - known);
  const double total = known + (estimated > 0 ? left : 0);
  std::vector<double> shares;
  for (const Kernel& kernel : kernels) {
    const double weight =
        kernel.dimension.weight > 0 ? kernel.dimension.weight : left * estimated_seconds(kernel) / estimated;
    shares.push_back(total > 1 ? weight / total : weight);
  }
  return shares;
}

double next_budget(const std::vector<double>& shares_left, double total_s, double floor_s) {
  if (shares_left.empty() || total_s <= 0) return 0;
  const double sum = std::accumulate(shares_left.begin(), shares_left.end(), 0.0);
  const double share = sum > 0 ? shares_left.front() / sum : 1.0 / shares_left.size();
  return std::min(total_s, std::max(floor_s, share * total_s));
}

}  // namespace hone::tune
