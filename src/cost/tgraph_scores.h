// Scores of the published TGraph without gradients: what its layers compute, up to rounding, in one pass over the nodes for
// each layer, with sixteen configurations side by side in a vector. Several times as fast as layer by layer, since a node's
// values stay in the first cache from its normalisation to its activation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone::cost {

// Matrices as in torch::nn::Linear: [out, in].
struct TGraphAttentionWeights {
  // Over channels (equation 5); null without it: [squeezed, inner], [squeezed], [inner, squeezed], [inner].
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
  int64_t hidden = 0, inner = 0;      // inner: half of hidden with attention across configurations, else all
  const float *second, *second_bias;  // [inner, hidden], [inner]
  TGraphAttentionWeights after_first, after_second;
  std::vector<TGraphBlockWeights> blocks;
  const float* last;  // [hidden]
  float last_bias = 0;
};

// Neighbours of every node in compressed rows, as WeightedEdges.
struct TGraphNeighbours {
  std::span<const int32_t> begin, node;
  std::span<const float> weight;
};

// [configs]; rows: [any, inner], what the first linear layer makes of distinct nodes; index: [configs, nodes] of rows.
std::vector<float> tgraph_scores(const TGraphWeights& weights, const TGraphNeighbours& neighbours, const float* rows,
                                 const int64_t* index, int64_t configs);

}  // namespace hone::cost
