// The published TGraph's weights and a batch's nodes as its scorer goes through them.
#pragma once

#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "cost/tgraph_weights.h"

namespace hone::cost {

// Weights in blocks of eight outputs, [blocks][width][8], filled up with zeros: what a step of a product reads is side by side.
struct PackedLayer {
  static constexpr int64_t kBlock = 8;
  int64_t outputs = 0, width = 0;
  std::vector<float> weights, bias;

  PackedLayer() = default;
  // rows: [outputs, width]; given_bias: [outputs] or null.
  PackedLayer(const float* rows, const float* given_bias, int64_t outputs_, int64_t width_)
      : outputs(outputs_), width(width_), weights((outputs_ + kBlock - 1) / kBlock * kBlock * width_), bias(outputs_) {
    for (int64_t k = 0; k < outputs; ++k) {
      if (given_bias) bias[k] = given_bias[k];
      float* to = weights.data() + k / kBlock * kBlock * width + k % kBlock;
      for (int64_t j = 0; j < width; ++j) to[j * kBlock] = rows[k * width + j];
    }
  }
};

struct PackedAttention {
  PackedLayer squeeze, expand;  // without outputs if absent
  bool across;
  float inverse;  // of the temperature

  PackedAttention(const TGraphAttentionWeights& given, int64_t inner)
      : across(given.across), inverse(1 / given.temperature) {
    if (!given.squeeze) return;
    squeeze = {given.squeeze, given.squeeze_bias, given.squeezed, inner};
    expand = {given.expand, given.expand_bias, inner, given.squeezed};
  }
};

struct PackedBlock {
  PackedLayer own, other;  // of the node, of its neighbours
  PackedAttention attention;
};

struct PackedTGraph {
  explicit PackedTGraph(const TGraphWeights& given)
      : hidden(given.hidden),
        inner(given.inner),
        second(given.second, given.second_bias, inner, hidden),
        last(given.last, &given.last_bias, 1, hidden),
        after_first(given.after_first, inner),
        after_second(given.after_second, inner) {
    for (const TGraphBlockWeights& block : given.blocks)
      blocks.push_back({{block.both, block.bias, inner, hidden},
                        {block.both + inner * hidden, nullptr, inner, hidden},
                        {block.attention, inner}});
  }

  int64_t hidden, inner;
  PackedLayer second, last;
  PackedAttention after_first, after_second;
  std::vector<PackedBlock> blocks;
};

// Nodes that have the same values: before the first block those with the same rows in all configurations, then each alone.
struct TGraphKinds {
  std::vector<int32_t> of;       // [nodes], which is where their panel is
  std::vector<int64_t> example;  // [kinds], a node
  std::vector<float> count;      // [kinds], of nodes
  std::vector<char> feeds;       // [kinds], whether a node's neighbour is one

  // index: [configs, nodes], the row of each node in each configuration.
  TGraphKinds(const int64_t* index, int64_t configs, int64_t nodes) {
    std::map<std::vector<int64_t>, int32_t> found;
    std::vector<int64_t> column(configs);
    for (int64_t node = 0; node < nodes; ++node) {
      for (int64_t c = 0; c < configs; ++c) column[c] = index[c * nodes + node];
      const auto [at, added] = found.try_emplace(column, static_cast<int32_t>(found.size()));
      of.push_back(at->second);
      if (added) {
        example.push_back(node);
        count.push_back(0);
      }
      ++count[at->second];
    }
  }

  void separate(const TGraphNeighbours& neighbours) {
    std::iota(of.begin(), of.end(), 0);
    find_feeds(neighbours);
  }

  void find_feeds(const TGraphNeighbours& neighbours) {
    feeds.assign(count.size(), false);
    for (int32_t node : neighbours.node) feeds[of[node]] = true;
  }
};

}  // namespace hone::cost
