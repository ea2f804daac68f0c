// How policies scale what they observe, as Normalizer of learn/agents/networks.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "options/safetensors.h"

namespace hone::passorder {

// Symmetric logarithms brought to mean 0 and deviation 1, and cut.
class InputScale {
 public:
  // The statistics NAME.count, .mean and .square; unless `on`, values stay as they are. Throws Error if they do not fit.
  InputScale(const options::TensorFile& file, const std::string& name, int64_t width, bool on);
  void apply(std::span<float> x) const;  // [width]

 private:
  bool on_, fitted_ = false;
  std::vector<float> mean_, factor_;
};

}  // namespace hone::passorder
