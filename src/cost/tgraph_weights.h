// What scoring with the published TGraph is given: its weights, and who is a neighbour of whom.
#pragma once

#include <cstdint>
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

}  // namespace hone::cost
