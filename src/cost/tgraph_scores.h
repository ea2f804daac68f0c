// Inference of the published TGraph: the results of its layers, up to rounding, in one pass over the nodes per layer, with
// as many configurations per vector as a register holds. Several times faster than separate operations, since a node's values
// stay in the caches from normalisation to activation.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cost/tgraph_weights.h"

namespace hone::cost {

// Configurations that are scored together: `index` [configs, nodes] into `rows` [any, inner], the first linear layer's outputs.
struct TGraphBatch {
  const float* rows;
  const int64_t* index;
  int64_t configs;
};

// Keeps the memory of one batch for the next. What it was made of, less the neighbours, need not be kept.
class TGraphScorer {
 public:
  static std::unique_ptr<TGraphScorer> make(const TGraphWeights& weights, const TGraphNeighbours& neighbours);
  virtual ~TGraphScorer() = default;
  virtual std::vector<float> scores(const TGraphBatch& batch) = 0;  // [configs]
};

}  // namespace hone::cost
