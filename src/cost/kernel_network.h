// A network over the rows that trees for run times take (tree_model.h): what their steps cannot follow, it does, and errs where they do not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dense.h"
#include "options/safetensors.h"

namespace hone::cost {

// Of a mean of its prediction and the trees', in the logarithm; chosen on validation programs.
inline constexpr double kNetworkShare = 2.0 / 3;

// Layers of a linear map, layer normalisation (Ba et al. 2016) and ReLU, and one linear output. Inputs are standardised; what lies beyond
// the training rows counts as their edge, and a feature that was the same in all of them does not count.
class KernelNetwork {
 public:
  // Of the tensors (F32) "network.least", ".most", ".mean" and ".deviation" [features], and for each layer i from 0 on "network.i.weight"
  // [outputs, inputs], "network.i.bias", "network.i.norm.weight" and "network.i.norm.bias" [outputs]; the last has one output and no
  // norm. Nothing if there is no "network.0.weight"; throws Error for what does not fit together or has no finite numbers.
  static std::optional<KernelNetwork> in(const options::TensorFile& file, size_t features);

  // [rows, features] -> [rows]
  std::vector<double> predict_rows(std::span<const float> rows) const;

 private:
  struct Layer {
    dense::Linear linear;
    dense::LayerNorm norm;  // none of the last
  };
  std::vector<float> least_, most_, mean_, factor_;
  std::vector<Layer> layers_;
};

}  // namespace hone::cost
