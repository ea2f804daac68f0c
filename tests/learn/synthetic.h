// Random small kernels whose run times are a function of their features.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "base/rng.h"
#include "cost/feature_scale.h"
#include "data/dataset.h"
#include "learn/nets/batch.h"

namespace hone::learn {

struct SyntheticKernel {
  std::string fingerprint, program, family = "synthetic", kind = "fusion";
  std::vector<uint8_t> opcodes;
  std::vector<float> node_features, static_features, tiles;
  std::vector<int32_t> edge_from, edge_to;
  std::vector<double> runtime_ns;

  KernelView view() const {
    KernelView v;
    v.fingerprint = fingerprint;
    v.program = program;
    v.family = family;
    v.kind = kind;
    v.opcodes = opcodes;
    v.node_features = node_features;
    v.static_features = static_features;
    v.edge_from = edge_from;
    v.edge_to = edge_to;
    v.tiles = tiles;
    v.runtime_ns = runtime_ns;
    return v;
  }
};

inline SyntheticKernel synthetic_kernel(Rng& rng, int64_t nodes, int64_t options, const std::string& program = "p0") {
  SyntheticKernel k;
  k.fingerprint = std::to_string(rng());
  k.program = program;
  for (int64_t i = 0; i < nodes; ++i) {
    k.opcodes.push_back(static_cast<uint8_t>(1 + rng.below(20)));
    for (int f = 0; f < features::node_feature_count(); ++f)
      k.node_features.push_back(f % 7 == 0 ? static_cast<float>(rng.below(64)) : 0.0f);
    for (int64_t e = 0; i > 0 && e < 1 + rng.below(2); ++e) {
      k.edge_from.push_back(static_cast<int32_t>(rng.below(i)));
      k.edge_to.push_back(static_cast<int32_t>(i));
    }
  }
  for (int f = 0; f < features::static_feature_count(); ++f)
    k.static_features.push_back(static_cast<float>(rng.below(1000)));
  const double base = 5000 + 100 * static_cast<double>(nodes) + k.node_features[0] * 50;
  for (int64_t o = 0; o < options; ++o) {
    const float first = static_cast<float>(1 + rng.below(128)), second = static_cast<float>(1 + rng.below(128));
    for (int f = 0; f < features::tile_feature_count(); ++f)
      k.tiles.push_back(f == 0 ? first : f == 1 ? second : f == 2 ? first * second : 0);
    k.runtime_ns.push_back(base * (1 + std::abs(std::log(first * second / (16.0f + static_cast<float>(nodes))))));
  }
  return k;
}

inline std::vector<SyntheticKernel> synthetic_kernels(uint64_t seed, int64_t count, int64_t nodes, int64_t options,
                                                      int64_t programs = 3) {
  Rng rng(seed);
  std::vector<SyntheticKernel> kernels;
  for (int64_t i = 0; i < count; ++i)
    kernels.push_back(synthetic_kernel(rng, nodes + i % 4, options, "p" + std::to_string(i % programs)));
  return kernels;
}

inline std::vector<KernelView> views_of(const std::vector<SyntheticKernel>& kernels) {
  std::vector<KernelView> views;
  for (const SyntheticKernel& kernel : kernels) views.push_back(kernel.view());
  return views;
}

inline cost::FeatureScale fitted_scale(const std::vector<KernelView>& views) {
  cost::FeatureScale scale;
  for (const KernelView& view : views) scale.fit(view);
  return scale;
}

// All options of all kernels.
inline std::shared_ptr<GraphBatch> batch_of(const std::vector<KernelView>& views, const cost::FeatureScale& scale,
                                            int64_t cap = 20) {
  std::vector<BatchItem> items;
  for (const KernelView& view : views) {
    items.push_back({view, {}});
    for (int32_t o = 0; o < view.options(); ++o) items.back().options.push_back(o);
  }
  return make_batch(items, scale, cap);
}

}  // namespace hone::learn
