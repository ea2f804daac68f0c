// Inference of the published TGraph: the results of its layers, up to rounding, in one pass over the nodes per layer, with
// as many configurations per vector as a register holds. Several times faster than separate operations, since a node's values
// stay in the caches from normalisation to activation.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hone::cost {

// Matrices as in torch::nn::Linear: [out, in].
struct TGraphAttentionWeights {
  // Over channels (equation 5); null if absent: [squeezed, inner], [squeezed], [inner, squeezed], [inner].
  const float *squeeze = nullptr, *squeeze_bias = nullptr, *expand = nullptr, *expand_bias = nullptr;
  int64_t squeezed = 0;
  bool across = false;    // over configurations (equation 6)
  float temperature = 1;  // of it
};

struct TGraphBlockWeights {
  const float *both, *bias;  // [2 * inner, hidden], [inner]
  TGraphAttentionWeights attention;
};

struct TGraphWeights {
  int64_t hidden = 0, inner = 0;      // inner: hidden / 2 with attention across configurations, else hidden
  const float *second, *second_bias;  // [inner, hidden], [inner]
  TGraphAttentionWeights after_first, after_second;
  std::vector<TGraphBlockWeights> blocks;
  const float* last;  // [hidden]
  float last_bias = 0;
};

// Neighbours of every node in compressed rows, as in WeightedEdges.
struct TGraphNeighbours {
  std::span<const int32_t> begin, node;
  std::span<const float> weight;
};

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
