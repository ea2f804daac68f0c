// One encoded kernel and its run times in memory: the input of cost models.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace hone {

// One kernel and its measured options. In a Dataset the spans point into mapped memory and live as long as the Dataset.
struct KernelView {
  std::string_view fingerprint, program, family, kind;
  std::span<const uint8_t> opcodes;
  std::span<const float> node_features, static_features;
  std::span<const int32_t> edge_from, edge_to;
  std::span<const float> tiles;        // [options, tile_feature_count()]
  std::span<const double> runtime_ns;  // [options], > 0 and finite
  int32_t default_option = -1;         // index of default XLA's option; -1 if it was not measured
  int64_t nodes() const { return static_cast<int64_t>(opcodes.size()); }
  int64_t options() const { return static_cast<int64_t>(runtime_ns.size()); }
};

}  // namespace hone
