#include "cost/tgraph_scores.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/lanes.h"

// A panel is the values of one node: [groups][hidden] vectors of sixteen configurations. If a panel has fewer channels, the
// rest of each column is unused.

namespace hone::cost {

namespace {

struct alignas(64) Cell {  // GCC aligns wide vectors by the widest register of its default target
  Lane x;
};

// x Phi(x) within 2e-6 for |x| < 12. erf(x / sqrt 2) / x on |x| < 5 is a polynomial in x^2 (a Chebyshev fit of degree 12), cheaper
// than the usual forms with an exponential and a quotient; from there on erf is 1 within 6e-7.
HONE_INLINE void gelu(Lane& x) {
  constexpr float kEnd = 5,
                  kTerms[] = {0.00117914833f, -0.00321204704f, 0.0035550769f,  -0.00540899765f, 0.0127046565f,
                              -0.0222930964f, 0.0328607969f,   -0.0465517528f, 0.0628721192f,   -0.0808828548f,
                              0.103041999f,   -0.140592664f,   0.282727569f};
  Lane z = x;
  bound(z, kEnd);
  const Lane t = z * z * (2 / (kEnd * kEnd)) - 1.0f;
  Lane p = Lane{} + kTerms[0];
#pragma GCC unroll 12
  for (int i = 1; i < 13; ++i) p = p * t + kTerms[i];
  x *= 0.5f + 0.5f * p * z;
}

// Swaps neighbouring blocks of 8, 4, 2 or 1 lanes, for reductions.
HONE_INLINE Lane swapped(const Lane& x, int step) {
  switch (step) {
    case 0:
      return __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    case 1:
      return __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    case 2:
      return __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    default:
      return __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  }
}

HONE_INLINE float sum_of(Lane& x) {
#pragma GCC unroll 4
  for (int step = 0; step < 4; ++step) x += swapped(x, step);
  return x[0];
}

HONE_INLINE float most_of(Lane& x) {
#pragma GCC unroll 4
  for (int step = 0; step < 4; ++step) {
    const Lane y = swapped(x, step);
    x = x < y ? y : x;
  }
  return x[0];
}

// The columns of one group of sixteen configurations: out (+)= weights in + bias.
template <int kOut>
HONE_INLINE void product(const Cell* in, int64_t width, const float* weights, const float* bias, bool add, Cell* out) {
  Lane sum[kOut];
#pragma GCC unroll 16
  for (int k = 0; k < kOut; ++k) {
    sum[k] = add ? out[k].x : Lane{};
    if (bias) sum[k] += bias[k];
  }
  for (int64_t j = 0; j < width; ++j) {
    const Lane x = in[j].x;
#pragma GCC unroll 16
    for (int k = 0; k < kOut; ++k) sum[k] += x * weights[k * width + j];
  }
#pragma GCC unroll 16
  for (int k = 0; k < kOut; ++k) out[k].x = sum[k];
}

HONE_INLINE void linear(const Cell* in, int64_t width, const float* weights, const float* bias, int64_t outputs,
                        bool add, Cell* out) {
  int64_t k = 0;
  for (; k + 16 <= outputs; k += 16)
    product<16>(in, width, weights + k * width, bias ? bias + k : nullptr, add, out + k);
  for (; k + 2 <= outputs; k += 2) product<2>(in, width, weights + k * width, bias ? bias + k : nullptr, add, out + k);
  for (; k < outputs; ++k) product<1>(in, width, weights + k * width, bias ? bias + k : nullptr, add, out + k);
}

struct Scorer {
  const TGraphWeights& weights;
  const TGraphNeighbours& neighbours;
  int64_t configs, nodes, groups;
  std::unique_ptr<Cell[]> x, next;                     // a panel for every node
  std::vector<Cell> h, out;                            // panels
  std::vector<Cell> pivot, sum, squares, mean, scale;  // panels: statistics over the most recently written nodes
  std::vector<Cell> column, other, squeezed, gate;     // of one group
  std::vector<Cell> soft;                              // [groups], exponentials of one channel
  std::vector<Cell> present;                           // [groups], 1, or 0 after the last configuration

  Scorer(const TGraphWeights& given, const TGraphNeighbours& rows, int64_t count)
      : weights(given),
        neighbours(rows),
        configs(count),
        nodes(static_cast<int64_t>(rows.begin.size()) - 1),
        groups((count + kLanes - 1) / kLanes) {
    const int64_t panel = weights.hidden * groups;
    for (auto* panels : {&x, &next}) *panels = std::make_unique_for_overwrite<Cell[]>(nodes * panel);
    for (auto* one : {&h, &out, &pivot, &sum, &squares, &mean, &scale}) one->resize(panel);
    for (auto* one : {&column, &other, &squeezed, &gate}) one->resize(weights.hidden);
    soft.resize(groups);
    present.resize(groups);
    for (int64_t c = 0; c < groups * kLanes; ++c) present[c / kLanes].x[c % kLanes] = c < configs ? 1 : 0;
  }

  Cell* panel(const std::unique_ptr<Cell[]>& panels, int64_t node) const {
    return panels.get() + node * weights.hidden * groups;
  }

  void gather(const float* rows, const int64_t* index, int64_t node) {
    Cell* to = panel(x, node);
    for (int64_t c = 0; c < groups * kLanes; ++c) {  // lanes after the last configuration repeat the first
      const float* row = rows + index[(c < configs ? c : 0) * nodes + node] * weights.inner;
      float* lane = reinterpret_cast<float*>(to + c / kLanes * weights.hidden) + c % kLanes;
      for (int64_t k = 0; k < weights.inner; ++k) lane[k * kLanes] = row[k];
    }
  }
};

// Instance normalisation sums differences from the mean of the first few nodes, to avoid cancellation in sums of squares.
constexpr int64_t kFirst = 8;

HONE_INLINE void add_to_norm(Scorer& s, int64_t i, const Lane& x) {
  const Lane d = x - s.pivot[i].x;
  s.sum[i].x += d;
  s.squares[i].x += d * d;
}

HONE_INLINE bool begun(const Scorer& s, int64_t node) { return node >= std::min(kFirst, s.nodes); }

// Call when the panel of the last node for which begun() is false has been written.
HONE_INLINE void begin_norm(Scorer& s, const std::unique_ptr<Cell[]>& panels, int64_t channels) {
  const int64_t first = std::min(kFirst, s.nodes);
  for (int64_t i = 0; i < s.groups * s.weights.hidden; ++i) {
    if (i % s.weights.hidden >= channels) continue;
    Lane sum{};
    for (int64_t n = 0; n < first; ++n) sum += s.panel(panels, n)[i].x;
    s.pivot[i].x = sum * (1 / static_cast<float>(first));
    s.sum[i].x = s.squares[i].x = Lane{};
    for (int64_t n = 0; n < first; ++n) add_to_norm(s, i, s.panel(panels, n)[i].x);
  }
}

HONE_INLINE void add_panel(Scorer& s, const std::unique_ptr<Cell[]>& panels, int64_t node, int64_t channels) {
  if (!begun(s, node)) {
    if (begun(s, node + 1)) begin_norm(s, panels, channels);
    return;
  }
  const Cell* x = s.panel(panels, node);
  for (int64_t g = 0; g < s.groups; ++g)
    for (int64_t i = g * s.weights.hidden; i < g * s.weights.hidden + channels; ++i) add_to_norm(s, i, x[i].x);
}

HONE_INLINE void fit_norm(Scorer& s, int64_t channels) {
  const float share = 1 / static_cast<float>(s.nodes);
  for (int64_t i = 0; i < s.groups * s.weights.hidden; ++i) {
    if (i % s.weights.hidden >= channels) continue;
    const Lane off = s.sum[i].x * share, variance = s.squares[i].x * share - off * off;
    s.mean[i].x = s.pivot[i].x + off;
    for (int64_t l = 0; l < kLanes; ++l) s.scale[i].x[l] = 1 / std::sqrt(std::max(variance[l], 0.0f) + 1e-5f);
  }
}

HONE_INLINE void normalise(const Scorer& s, const Cell* x, int64_t channels, int64_t group, Cell* column) {
  for (int64_t k = 0; k < channels; ++k) {
    const int64_t i = group * s.weights.hidden + k;
    column[k].x = (x[i].x - s.mean[i].x) * s.scale[i].x;
  }
}

// Attention over channels of a column; the result goes to s.h.
HONE_INLINE void attend_channels(Scorer& s, const TGraphAttentionWeights& weights, Cell* column, int64_t group) {
  const int64_t inner = s.weights.inner;
  if (weights.squeeze) {
    Cell *squeezed = s.squeezed.data(), *gate = s.gate.data();
    linear(column, inner, weights.squeeze, weights.squeeze_bias, weights.squeezed, false, squeezed);
    for (int64_t i = 0; i < weights.squeezed; ++i) squeezed[i].x = squeezed[i].x < 0 ? Lane{} : squeezed[i].x;
    linear(squeezed, weights.squeezed, weights.expand, weights.expand_bias, inner, false, gate);
    for (int64_t i = 0; i < inner; ++i) {
      Lane e = -gate[i].x;
      bound(e, 87);
      exponential(e);
      column[i].x /= 1.0f + e;
    }
  }
  for (int64_t i = 0; i < inner; ++i) s.h[group * s.weights.hidden + i].x = column[i].x;
}

// Softmax over configurations of h / temperature, one channel: the exponentials in `e` and their common factor as result.
HONE_INLINE float softmax(const Scorer& s, const Cell* h, float temperature, Cell* e) {
  const float inverse = 1 / temperature;
  Lane top = h[0].x * inverse;
  for (int64_t g = 1; g < s.groups; ++g) {
    const Lane scaled = h[g * s.weights.hidden].x * inverse;
    top = top < scaled ? scaled : top;
  }
  const float most = most_of(top);
  Lane sum{};
  for (int64_t g = 0; g < s.groups; ++g) {
    e[g].x = h[g * s.weights.hidden].x * inverse - most;
    bound(e[g].x, 87);
    exponential(e[g].x);
    sum += e[g].x * s.present[g].x;
  }
  return 1 / sum_of(sum);
}

// Attention over configurations of s.h, plus `residual`, then GELU, to `to`: panels of width hidden. With `norm` the values
// are added to the statistics of the next instance normalisation.
HONE_INLINE void attend_configs(Scorer& s, const TGraphAttentionWeights& weights, const Cell* residual, bool norm,
                                Cell* to) {
  const int64_t inner = s.weights.inner, hidden = s.weights.hidden;
  const auto finish = [&](int64_t i, Lane& value) __attribute__((always_inline)) {
    if (residual) value += residual[i].x;
    gelu(value);
    to[i].x = value;
    if (norm) add_to_norm(s, i, value);
  };
  for (int64_t k = 0; k < inner; ++k) {
    const Cell* h = s.h.data() + k;
    const float share = weights.across ? softmax(s, h, weights.temperature, s.soft.data()) : 0;
    for (int64_t g = 0; g < s.groups; ++g) {
      Lane same = h[g * hidden].x;
      if (weights.across) {
        Lane weighted = same * s.soft[g].x * share;
        finish(g * hidden + inner + k, weighted);
      }
      finish(g * hidden + k, same);
    }
  }
}

// The steps after a linear layer of the input: normalisation of x of width inner, both attentions, GELU. `to` may be x.
HONE_INLINE void attend_normalised(Scorer& s, const TGraphAttentionWeights& weights, const Cell* x, bool norm,
                                   Cell* to) {
  for (int64_t g = 0; g < s.groups; ++g) {
    normalise(s, x, s.weights.inner, g, s.column.data());
    attend_channels(s, weights, s.column.data(), g);
  }
  attend_configs(s, weights, nullptr, norm, to);
}

HONE_INLINE void input_layers(Scorer& s, const float* rows, const int64_t* index) {
  const TGraphWeights& w = s.weights;
  for (int64_t node = 0; node < s.nodes; ++node) {
    s.gather(rows, index, node);
    add_panel(s, s.x, node, w.inner);
  }
  fit_norm(s, w.inner);
  for (int64_t node = 0; node < s.nodes; ++node) {
    Cell* x = s.panel(s.x, node);
    attend_normalised(s, w.after_first, x, false, s.out.data());
    for (int64_t g = 0; g < s.groups; ++g) {
      const int64_t column = g * w.hidden;
      linear(s.out.data() + column, w.hidden, w.second, w.second_bias, w.inner, false, x + column);
    }
    add_panel(s, s.x, node, w.inner);
  }
  fit_norm(s, w.inner);
  for (int64_t node = 0; node < s.nodes; ++node) {
    Cell* x = s.panel(s.x, node);
    attend_normalised(s, w.after_second, x, begun(s, node), x);
    if (!begun(s, node)) add_panel(s, s.x, node, w.hidden);
  }
}

// The normalised aggregate of a node's neighbours; false without any.
HONE_INLINE bool aggregate(const Scorer& s, int64_t node, int64_t group, Cell* column) {
  const int32_t begin = s.neighbours.begin[node], end = s.neighbours.begin[node + 1];
  if (begin == end) return false;
  float total = 0;
  for (int64_t k = 0; k < s.weights.hidden; ++k) column[k].x = Lane{};
  for (int32_t e = begin; e < end; ++e) {
    const Cell* x = s.panel(s.x, s.neighbours.node[e]);
    const float weight = s.neighbours.weight[e];
    for (int64_t k = 0; k < s.weights.hidden; ++k) column[k].x += x[group * s.weights.hidden + k].x * weight;
    total += weight;
  }
  for (int64_t k = 0; k < s.weights.hidden; ++k) {
    const int64_t i = group * s.weights.hidden + k;
    column[k].x = (column[k].x - s.mean[i].x * total) * s.scale[i].x;
  }
  return true;
}

HONE_INLINE void block_layer(Scorer& s, const TGraphBlockWeights& block) {
  const int64_t hidden = s.weights.hidden, inner = s.weights.inner;
  fit_norm(s, hidden);
  for (int64_t node = 0; node < s.nodes; ++node) {
    const Cell* x = s.panel(s.x, node);
    for (int64_t g = 0; g < s.groups; ++g) {
      Cell *column = s.column.data(), *h = s.other.data();
      normalise(s, x, hidden, g, column);
      linear(column, hidden, block.both, block.bias, inner, false, h);
      if (aggregate(s, node, g, column)) linear(column, hidden, block.both + inner * hidden, nullptr, inner, true, h);
      attend_channels(s, block.attention, h, g);
    }
    attend_configs(s, block.attention, x, begun(s, node), s.panel(s.next, node));
    if (!begun(s, node)) add_panel(s, s.next, node, hidden);
  }
  std::swap(s.x, s.next);
}

HONE_WIDE void score_all(Scorer& s, const float* rows, const int64_t* index, float* scores) {
  const TGraphWeights& w = s.weights;
  input_layers(s, rows, index);
  for (const TGraphBlockWeights& block : w.blocks) block_layer(s, block);
  const float share = 1 / static_cast<float>(s.nodes);
  for (int64_t g = 0; g < s.groups; ++g) {
    for (int64_t k = 0; k < w.hidden; ++k) {
      const int64_t i = g * s.weights.hidden + k;
      s.column[k].x = s.pivot[i].x + s.sum[i].x * share;
    }
    linear(s.column.data(), w.hidden, w.last, &w.last_bias, 1, false, s.other.data());
    for (int64_t c = g * kLanes; c < std::min(s.configs, (g + 1) * kLanes); ++c) scores[c] = s.other[0].x[c % kLanes];
  }
}

}  // namespace

std::vector<float> tgraph_scores(const TGraphWeights& weights, const TGraphNeighbours& neighbours, const float* rows,
                                 const int64_t* index, int64_t configs) {
  std::vector<float> scores(configs);
  if (configs == 0) return scores;
  Scorer scorer(weights, neighbours, configs);
  score_all(scorer, rows, index, scores.data());
  return scores;
}

}  // namespace hone::cost
