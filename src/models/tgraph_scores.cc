#include "models/tgraph_scores.h"

#include <cmath>
#include <memory>
#include <utility>

// A panel is the values of one node: [channels][groups] vectors of sixteen configurations.
#define SCORES_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#define SCORES_INLINE inline __attribute__((always_inline))

namespace hone::models {

namespace tgraph_scores_of {

constexpr int64_t kLanes = 16;
typedef float Lane __attribute__((vector_size(4 * kLanes), may_alias));
typedef int32_t Bits __attribute__((vector_size(4 * kLanes), may_alias));
struct alignas(64) Cell {  // GCC aligns wide vectors by the widest register of its default target
  Lane x;
};

// e^x within 2 units in the last place, by the polynomial of Cephes' expf.
SCORES_INLINE void exponential(Lane& x) {
  const Lane least = Lane{} - 87.0f, most = Lane{} + 88.0f;
  x = x < least ? least : x;
  x = x > most ? most : x;
  const Lane n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;  // to the nearest whole number
  const Lane r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Lane p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const Bits power = (__builtin_convertvector(n, Bits) + 127) << 23;
  x = p * (Lane)power;
}

// x Phi(x), with the error function by Abramowitz and Stegun 7.1.26 (error below 1.5e-7).
SCORES_INLINE void gelu(Lane& x) {
  const Lane z = x * 0.70710678f, size = z < 0 ? -z : z;
  const Lane t = 1.0f / (size * 0.3275911f + 1.0f);
  Lane p = t * 1.061405429f - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  Lane tail = -size * size;
  exponential(tail);
  tail *= p * t;  // 1 - erf(|z|)
  x *= 0.5f * (z < 0 ? tail : 2.0f - tail);
}

SCORES_INLINE float sum_of(const Lane& given) {
  Lane x = given;
  x += __builtin_shuffle(x, Bits{8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7});
  x += __builtin_shuffle(x, Bits{4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11});
  x += __builtin_shuffle(x, Bits{2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13});
  return x[0] + x[1];
}

SCORES_INLINE float most_of(const Lane& x) {
  float most = x[0];
  for (int64_t i = 1; i < kLanes; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

template <int kOut>
SCORES_INLINE void product(const Cell* in, int64_t width, int64_t groups, const float* weights, const float* bias,
                           bool add, Cell* out) {
  for (int64_t g = 0; g < groups; ++g) {
    Lane sum[kOut];
#pragma GCC unroll 16
    for (int k = 0; k < kOut; ++k) {
      sum[k] = add ? out[k * groups + g].x : Lane{};
      if (bias) sum[k] += bias[k];
    }
    for (int64_t j = 0; j < width; ++j) {
      const Lane x = in[j * groups + g].x;
#pragma GCC unroll 16
      for (int k = 0; k < kOut; ++k) sum[k] += x * weights[k * width + j];
    }
#pragma GCC unroll 16
    for (int k = 0; k < kOut; ++k) out[k * groups + g].x = sum[k];
  }
}

// out (+)= weights in + bias, a panel of `outputs` channels from one of `width`.
SCORES_INLINE void linear(const Cell* in, int64_t width, int64_t groups, const float* weights, const float* bias,
                          int64_t outputs, bool add, Cell* out) {
  int64_t k = 0;
  for (; k + 16 <= outputs; k += 16)
    product<16>(in, width, groups, weights + k * width, bias ? bias + k : nullptr, add, out + k * groups);
  for (; k + 2 <= outputs; k += 2)
    product<2>(in, width, groups, weights + k * width, bias ? bias + k : nullptr, add, out + k * groups);
  for (; k < outputs; ++k)
    product<1>(in, width, groups, weights + k * width, bias ? bias + k : nullptr, add, out + k * groups);
}

SCORES_INLINE void attend_channels(const TGraphAttentionWeights& weights, int64_t inner, int64_t groups, Cell* h,
                                   Cell* squeezed, Cell* expanded) {
  linear(h, inner, groups, weights.squeeze, weights.squeeze_bias, weights.squeezed, false, squeezed);
  for (int64_t i = 0; i < weights.squeezed * groups; ++i) squeezed[i].x = squeezed[i].x < 0 ? Lane{} : squeezed[i].x;
  linear(squeezed, weights.squeezed, groups, weights.expand, weights.expand_bias, inner, false, expanded);
  for (int64_t i = 0; i < inner * groups; ++i) {
    Lane e = -expanded[i].x;
    exponential(e);
    h[i].x /= 1.0f + e;
  }
}

// out: h and h o softmax over configurations of h / temperature, one behind the other; present: 1, 0 behind the last one.
SCORES_INLINE void attend_configs(const Cell* h, int64_t inner, int64_t groups, float temperature, const Cell* present,
                                  Cell* out) {
  const float inverse = 1 / temperature;
  for (int64_t k = 0; k < inner; ++k) {
    const Cell* x = h + k * groups;
    Cell *same = out + k * groups, *weighted = out + (inner + k) * groups;
    Lane top = x[0].x * inverse;
    for (int64_t g = 0; g < groups; ++g) {
      const Lane scaled = x[g].x * inverse;
      weighted[g].x = scaled;
      top = top < scaled ? scaled : top;
    }
    const float most = most_of(top);
    Lane sum{};
    for (int64_t g = 0; g < groups; ++g) {
      Lane e = weighted[g].x - most;
      exponential(e);
      sum += e * present[g].x;
      weighted[g].x = e;
    }
    const float share = 1 / sum_of(sum);
    for (int64_t g = 0; g < groups; ++g) {
      same[g].x = x[g].x;
      weighted[g].x *= x[g].x * share;
    }
  }
}

struct Scorer {
  const TGraphWeights& weights;
  const TGraphNeighbours& neighbours;
  int64_t configs, nodes, groups;
  std::unique_ptr<Cell[]> x, next;  // a panel for every node
  std::vector<Cell> h, out, squeezed, expanded, present;
  std::vector<Cell> sum, mean, scale;  // of the panels written last, over nodes

  Scorer(const TGraphWeights& given, const TGraphNeighbours& rows, int64_t count)
      : weights(given),
        neighbours(rows),
        configs(count),
        nodes(static_cast<int64_t>(rows.begin.size()) - 1),
        groups((count + kLanes - 1) / kLanes) {
    const int64_t panel = weights.hidden * groups;
    for (auto* panels : {&x, &next}) *panels = std::make_unique_for_overwrite<Cell[]>(nodes * panel);
    for (auto* one : {&h, &out, &squeezed, &expanded, &sum, &mean, &scale}) one->resize(panel);
    present.resize(groups);
    for (int64_t c = 0; c < groups * kLanes; ++c) present[c / kLanes].x[c % kLanes] = c < configs ? 1 : 0;
  }

  Cell* panel(const std::unique_ptr<Cell[]>& panels, int64_t node) const {
    return panels.get() + node * weights.hidden * groups;
  }

  void gather(const float* rows, const int64_t* index, int64_t node) {
    float* to = reinterpret_cast<float*>(panel(x, node));
    for (int64_t c = 0; c < groups * kLanes; ++c) {  // what is behind the last configuration repeats the first
      const float* row = rows + index[(c < configs ? c : 0) * nodes + node] * weights.inner;
      for (int64_t k = 0; k < weights.inner; ++k) to[k * groups * kLanes + c] = row[k];
    }
  }
};

SCORES_INLINE void accumulate(Scorer& s, const Cell* panel, int64_t channels) {
  for (int64_t i = 0; i < channels * s.groups; ++i) s.sum[i].x += panel[i].x;
}

// Of instance normalisation over nodes, from the sums; sums are zero afterwards.
SCORES_INLINE void fit_norm(Scorer& s, int64_t channels) {
  const float share = 1 / static_cast<float>(s.nodes);
  const int64_t cells = channels * s.groups;
  for (int64_t i = 0; i < cells; ++i) {
    s.mean[i].x = s.sum[i].x * share;
    s.sum[i].x = s.scale[i].x = Lane{};
  }
  for (int64_t node = 0; node < s.nodes; ++node) {  // around the mean: sums of squares would cancel
    const Cell* x = s.panel(s.x, node);
    for (int64_t i = 0; i < cells; ++i) {
      const Lane d = x[i].x - s.mean[i].x;
      s.scale[i].x += d * d;
    }
  }
  for (int64_t i = 0; i < cells; ++i)
    for (int64_t l = 0; l < kLanes; ++l) s.scale[i].x[l] = 1 / std::sqrt(s.scale[i].x[l] * share + 1e-5f);
}

// From s.h to s.out, which gets the width hidden.
SCORES_INLINE void attend(Scorer& s, const TGraphAttentionWeights& weights) {
  const int64_t inner = s.weights.inner;
  if (weights.squeeze) attend_channels(weights, inner, s.groups, s.h.data(), s.squeezed.data(), s.expanded.data());
  if (weights.across) {
    attend_configs(s.h.data(), inner, s.groups, weights.temperature, s.present.data(), s.out.data());
    return;
  }
  for (int64_t i = 0; i < inner * s.groups; ++i) s.out[i].x = s.h[i].x;
}

SCORES_INLINE void normalise(Scorer& s, const Cell* x, int64_t channels, Cell* to) {
  for (int64_t i = 0; i < channels * s.groups; ++i) to[i].x = (x[i].x - s.mean[i].x) * s.scale[i].x;
}

SCORES_INLINE void activate(Cell* x, int64_t cells) {
  for (int64_t i = 0; i < cells; ++i) gelu(x[i].x);
}

SCORES_INLINE void input_layers(Scorer& s, const float* rows, const int64_t* index) {
  const TGraphWeights& w = s.weights;
  const int64_t panel = w.hidden * s.groups;
  for (int64_t node = 0; node < s.nodes; ++node) {
    s.gather(rows, index, node);
    accumulate(s, s.panel(s.x, node), w.inner);
  }
  fit_norm(s, w.inner);
  for (int64_t node = 0; node < s.nodes; ++node) {
    Cell* x = s.panel(s.x, node);
    normalise(s, x, w.inner, s.h.data());
    attend(s, w.after_first);
    activate(s.out.data(), panel);
    linear(s.out.data(), w.hidden, s.groups, w.second, w.second_bias, w.inner, false, x);
    accumulate(s, x, w.inner);
  }
  fit_norm(s, w.inner);
  for (int64_t node = 0; node < s.nodes; ++node) {
    Cell* x = s.panel(s.x, node);
    normalise(s, x, w.inner, s.h.data());
    attend(s, w.after_second);
    for (int64_t i = 0; i < panel; ++i) {
      x[i].x = s.out[i].x;
      gelu(x[i].x);
    }
    accumulate(s, x, w.hidden);
  }
}

// s.expanded: the normalised aggregate of the neighbours; false without any.
SCORES_INLINE bool aggregate(Scorer& s, int64_t node) {
  const int64_t cells = s.weights.hidden * s.groups;
  const int32_t begin = s.neighbours.begin[node], end = s.neighbours.begin[node + 1];
  if (begin == end) return false;
  Cell* sum = s.expanded.data();
  float total = 0;
  for (int64_t i = 0; i < cells; ++i) sum[i].x = Lane{};
  for (int32_t e = begin; e < end; ++e) {
    const Cell* x = s.panel(s.x, s.neighbours.node[e]);
    const float weight = s.neighbours.weight[e];
    for (int64_t i = 0; i < cells; ++i) sum[i].x += x[i].x * weight;
    total += weight;
  }
  for (int64_t i = 0; i < cells; ++i) sum[i].x = (sum[i].x - s.mean[i].x * total) * s.scale[i].x;
  return true;
}

SCORES_INLINE void block_layer(Scorer& s, const TGraphBlockWeights& block) {
  const int64_t hidden = s.weights.hidden, inner = s.weights.inner, panel = hidden * s.groups;
  fit_norm(s, hidden);
  for (int64_t node = 0; node < s.nodes; ++node) {
    const Cell* x = s.panel(s.x, node);
    Cell* to = s.panel(s.next, node);
    normalise(s, x, hidden, s.out.data());
    linear(s.out.data(), hidden, s.groups, block.both, block.bias, inner, false, s.h.data());
    if (aggregate(s, node))
      linear(s.expanded.data(), hidden, s.groups, block.both + inner * hidden, nullptr, inner, true, s.h.data());
    attend(s, block.attention);
    for (int64_t i = 0; i < panel; ++i) {
      to[i].x = s.out[i].x + x[i].x;
      gelu(to[i].x);
    }
    accumulate(s, to, hidden);
  }
  std::swap(s.x, s.next);
}

SCORES_WIDE void score_all(Scorer& s, const float* rows, const int64_t* index, float* scores) {
  input_layers(s, rows, index);
  for (const TGraphBlockWeights& block : s.weights.blocks) block_layer(s, block);
  const float share = 1 / static_cast<float>(s.nodes);
  for (int64_t i = 0; i < s.weights.hidden * s.groups; ++i) s.mean[i].x = s.sum[i].x * share;
  linear(s.mean.data(), s.weights.hidden, s.groups, s.weights.last, &s.weights.last_bias, 1, false, s.out.data());
  for (int64_t c = 0; c < s.configs; ++c) scores[c] = s.out[c / kLanes].x[c % kLanes];
}

}  // namespace tgraph_scores_of

std::vector<float> tgraph_scores(const TGraphWeights& weights, const TGraphNeighbours& neighbours, const float* rows,
                                 const int64_t* index, int64_t configs) {
  std::vector<float> scores(configs);
  if (configs == 0) return scores;
  tgraph_scores_of::Scorer scorer(weights, neighbours, configs);
  tgraph_scores_of::score_all(scorer, rows, index, scores.data());
  return scores;
}

}  // namespace hone::models
