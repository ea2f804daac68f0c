#include "learn/train/sampler.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/rng.h"

namespace hone::learn {

namespace {

std::string_view group_of(const KernelView& kernel, const std::string& balance) {
  if (balance == "program") return kernel.program;
  return balance == "family" ? kernel.family : std::string_view();
}

// `count` of 0 .. n-1 without replacement, ascending (Floyd 1987).
std::vector<int32_t> draw(int64_t n, int64_t count, Rng& rng) {
  std::vector<int32_t> drawn;
  if (count >= n) {
    drawn.resize(n);
    std::iota(drawn.begin(), drawn.end(), 0);
    return drawn;
  }
  for (int64_t i = n - count; i < n; ++i) {
    const auto pick = static_cast<int32_t>(rng.below(i + 1));
    const auto place = std::lower_bound(drawn.begin(), drawn.end(), pick);
    if (place == drawn.end() || *place != pick)
      drawn.insert(place, pick);
    else
      drawn.push_back(static_cast<int32_t>(i));
  }
  return drawn;
}

}  // namespace

uint64_t mix_seed(uint64_t seed, uint64_t a, uint64_t b) {
  const uint64_t first = Rng(seed)();
  const uint64_t second = Rng(first ^ a)();
  return Rng(second + b)();
}

Sampler::Sampler(std::vector<KernelView> kernels, const SamplerOptions& options)
    : kernels_(std::move(kernels)), options_(options) {
  std::map<std::string_view, std::vector<int64_t>> groups;
  for (size_t i = 0; i < kernels_.size(); ++i)
    if (kernels_[i].options() >= options_.min_options)
      groups[group_of(kernels_[i], options_.balance)].push_back(static_cast<int64_t>(i));
  for (auto& [name, members] : groups) groups_.push_back(std::move(members));
  if (groups_.empty())
    throw Error("no kernel to train on has " + std::to_string(options_.min_options) + " measured options", "data set");
}

std::vector<BatchItem> Sampler::sample(uint64_t seed, int64_t step, int64_t rank) const {
  Rng rng(mix_seed(seed, static_cast<uint64_t>(step), static_cast<uint64_t>(rank)));
  std::vector<BatchItem> items;
  for (int64_t i = 0; i < options_.kernels; ++i) {
    const std::vector<int64_t>& group = groups_[rng.below(groups())];
    const KernelView& kernel = kernels_[group[rng.below(static_cast<int64_t>(group.size()))]];
    items.push_back({kernel, draw(kernel.options(), options_.options, rng)});
  }
  return items;
}

}  // namespace hone::learn
