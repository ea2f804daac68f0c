#include "cost/tgraph_scores.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "cost/tgraph_lanes.h"
#include "cost/tgraph_packed.h"

// A panel is the values of one node: [channels][pitch] vectors of kLanes configurations, so that what attention across
// configurations reads is side by side. The other steps take kGroups such groups at a time.

namespace hone::cost {

namespace {

template <int kLanes>
class Scorer final : public TGraphScorer {
 public:
  Scorer(const TGraphWeights& weights, const TGraphNeighbours& neighbours)
      : network_(weights),
        neighbours_(neighbours),
        hidden_(weights.hidden),
        inner_(weights.inner),
        nodes_(static_cast<int64_t>(neighbours.begin.size()) - 1) {}

  std::vector<float> scores(const TGraphBatch& batch) override {
    std::vector<float> scores(batch.configs);
    if (batch.configs == 0) return scores;
    prepare(batch.configs);
    TGraphKinds kinds(batch.index, batch.configs, nodes_);
    kinds.find_feeds(neighbours_);
    run_lanes<kLanes, Scorer>(*this, batch, kinds, scores);
    return scores;
  }

  template <int kGiven>
  static HONE_INLINE void run(Scorer& scorer, const TGraphBatch& batch, TGraphKinds& kinds,
                              std::vector<float>& scores) {
    static_assert(kGiven == kLanes);
    scorer.score(batch, kinds, scores);
  }

 private:
  using L = TGraphLanes<kLanes>;
  using Lane = typename L::Lane;
  using Cell = typename L::Cell;
  using Inputs = typename L::Inputs;

  static constexpr int64_t kNodes = 8;  // that are worked on together, so that statistics stay in the L1 cache
  struct Few {                          // kinds of one step
    int64_t first, count;
  };

  void prepare(int64_t configs) {
    const int64_t groups = (configs + kLanes - 1) / kLanes;
    if (groups != groups_) allocate(groups);
    configs_ = configs;
    for (int64_t c = 0; c < groups * kLanes; ++c) present_[c / kLanes].x[c % kLanes] = c < configs ? 1 : 0;
  }

  void allocate(int64_t groups) {
    groups_ = groups;
    // Rows that begin 512 bytes apart share an eighth of the sets of an L1 cache.
    pitch_ = groups + (groups * static_cast<int64_t>(sizeof(Cell)) % 512 == 0);
    size_ = hidden_ * pitch_;
    for (auto* panels : {&x_, &next_}) *panels = std::make_unique_for_overwrite<Cell[]>(nodes_ * size_);
    products_ = std::make_unique_for_overwrite<Cell[]>(nodes_ * 2 * inner_ * pitch_);
    for (auto* some : {&h_, &out_}) some->assign(kNodes * size_, Cell{});
    for (auto* one : {&sum_, &squares_, &mean_, &scale_}) one->assign(size_, Cell{});
    for (auto* one : {&column_, &narrow_, &squeezed_}) one->assign(2 * hidden_, Cell{});
    for (auto* one : {&soft_, &present_}) one->assign(groups, Cell{});
  }

  Cell* panel(const std::unique_ptr<Cell[]>& panels, int64_t at) const { return panels.get() + at * size_; }

  // Calls step<kGroups>(first group) for all groups.
  template <class Step>
  HONE_INLINE void for_groups(Step&& step) const {
    int64_t g = 0;
    for (; g + 2 <= groups_; g += 2) step.template operator()<2>(g);
    for (; g < groups_; ++g) step.template operator()<1>(g);
  }

  template <class Step>
  HONE_INLINE void for_few(const TGraphKinds& kinds, Step&& step) const {
    const auto end = static_cast<int64_t>(kinds.count.size());
    for (int64_t first = 0; first < end; first += kNodes) step(Few{first, std::min(kNodes, end - first)});
  }

  HONE_INLINE void gather(const TGraphBatch& batch, int64_t node, Cell* to) const {
    const int64_t first = batch.index[node];
    bool alike = true;
    for (int64_t c = 1; c < configs_; ++c) alike &= batch.index[c * nodes_ + node] == first;
    if (alike) {
      for (int64_t k = 0; k < inner_; ++k)
        for (int64_t g = 0; g < groups_; ++g) to[k * pitch_ + g].x = Lane{} + batch.rows[first * inner_ + k];
      return;
    }
    for (int64_t c = 0; c < groups_ * kLanes; ++c) {  // lanes after the last configuration repeat the first
      const float* row = batch.rows + (c < configs_ ? batch.index[c * nodes_ + node] : first) * inner_;
      float* lane = reinterpret_cast<float*>(to) + c;
      for (int64_t k = 0; k < inner_; ++k) lane[k * pitch_ * kLanes] = row[k];
    }
  }

  // Instance normalisation sums differences from the first node, to avoid cancellation in sums of squares.
  void begin_norm() {
    for (auto* one : {&sum_, &squares_}) std::fill(one->begin(), one->end(), Cell{});
  }

  HONE_INLINE void add_panels(const TGraphKinds& kinds, Few few, int64_t channels) {
    Cell *const sum = sum_.data(), *const squares = squares_.data();
    const Cell *const first = panel(x_, 0), *const x = panel(x_, few.first);
    const float* const count = kinds.count.data() + few.first;
    for (int64_t k = 0; k < channels; ++k)
      for (int64_t i = k * pitch_, end = i + groups_; i < end; ++i) {
        Lane total = sum[i].x, square = squares[i].x;
        for (int64_t n = 0; n < few.count; ++n) {
          const Lane d = x[n * size_ + i].x - first[i].x, weighted = d * count[n];
          total += weighted;
          square += weighted * d;
        }
        sum[i].x = total;
        squares[i].x = square;
      }
  }

  HONE_INLINE void fit_norm(int64_t channels) {
    const float share = 1 / static_cast<float>(nodes_);
    const Cell* first = panel(x_, 0);
    for (int64_t k = 0; k < channels; ++k)
      for (int64_t i = k * pitch_, end = i + groups_; i < end; ++i) {
        const Lane off = sum_[i].x * share, variance = squares_[i].x * share - off * off;
        mean_[i].x = first[i].x + off;
        for (int l = 0; l < kLanes; ++l) scale_[i].x[l] = 1 / std::sqrt(std::max(variance[l], 0.0f) + 1e-5f);
      }
  }

  // Of a panel, to column_.
  template <int kGroups>
  HONE_INLINE void normalise(const Cell* x, int64_t channels, int64_t group) {
    const int64_t pitch = pitch_, size = size_;
    const Cell *const mean = mean_.data(), *const scale = scale_.data();
    Cell* const to = column_.data();
    for (int64_t k = 0; k < channels; ++k)
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g) {
        const int64_t i = k * pitch + group + g;
        __builtin_prefetch(x + size + i);
        to[k * kGroups + g].x = (x[i].x - mean[i].x) * scale[i].x;
      }
  }

  // Attention over channels of a column, to the panel of h_ at `place`.
  template <int kGroups>
  HONE_INLINE void attend_channels(const PackedAttention& attention, const Cell* column, int64_t place, int64_t group) {
    const int64_t inner = inner_, pitch = pitch_;
    Cell *const gate = h_.data() + place * size_ + group, *const squeezed = squeezed_.data();
    if (attention.squeeze.outputs == 0) {
      for (int64_t k = 0; k < inner; ++k)
        for (int g = 0; g < kGroups; ++g) gate[k * pitch + g].x = column[k * kGroups + g].x;
      return;
    }
    L::template linear<kGroups>({column, kGroups}, attention.squeeze, {squeezed, kGroups});
    for (int64_t i = 0; i < attention.squeeze.outputs * kGroups; ++i)
      squeezed[i].x = squeezed[i].x < 0 ? Lane{} : squeezed[i].x;
    L::template linear<kGroups>({squeezed, kGroups}, attention.expand, {gate, pitch});
    for (int64_t k = 0; k < inner; ++k)
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g) {
        Lane e = -gate[k * pitch + g].x;
        L::bound(e, 43);  // two of them have a product
        L::exponential(e);
        gate[k * pitch + g].x = e + 1.0f;
      }
    for (int64_t k = 0; k < inner; ++k) divide<kGroups>(column + k * kGroups, gate + k * pitch);
  }

  // y = x / y of kGroups vectors; a quotient takes as long as a dozen products, so there is one for both.
  template <int kGroups>
  static HONE_INLINE void divide(const Cell* x, Cell* y) {
    if constexpr (kGroups == 2) {
      const Lane share = 1.0f / (y[0].x * y[1].x), second = x[1].x * y[0].x;
      y[0].x = x[0].x * y[1].x * share;
      y[1].x = second * share;
    } else {
      y[0].x = x[0].x / y[0].x;
    }
  }

  // Softmax over configurations of h / temperature, one channel: the exponentials in soft_ and their common factor as result.
  HONE_INLINE float softmax(const Cell* h, float inverse) {
    const int64_t groups = groups_;
    const Cell* const present = present_.data();
    Cell* const e = soft_.data();
    Lane top = h[0].x * inverse;
    for (int64_t g = 1; g < groups; ++g) {
      const Lane scaled = h[g].x * inverse;
      top = top < scaled ? scaled : top;
    }
    const float most = L::most_of(top);
    Lane sum{};
    for (int64_t g = 0; g < groups; ++g) {
      Lane value = h[g].x * inverse - most;
      L::bound(value, 87);
      L::exponential(value);
      e[g].x = value;
      sum += value * present[g].x;
    }
    return 1 / L::sum_of(sum);
  }

  enum class Then { Store, Normalise, SumUp };

  // Attention over configurations of h_, then GELU, to `to` and, for Normalise, to the statistics, as differences from
  // `first`; SumUp only sums, without `to`. kResidual: plus the panels of x_ that the nodes have.
  template <bool kResidual, Then kThen>
  HONE_INLINE void attend_configs(const PackedAttention& attention, const TGraphKinds& kinds, Few few,
                                  const Cell* first, Cell* to) {
    const int64_t inner = inner_, groups = groups_, pitch = pitch_, size = size_;
    const Cell *const h = h_.data(), *const soft = soft_.data();
    Cell *const sum = sum_.data(), *const squares = squares_.data();
    const float* const count = kinds.count.data() + few.first;
    const auto finish = [&](int64_t n, int64_t i, Lane& value) __attribute__((always_inline)) {
      if (kResidual) value += panel(x_, kinds.of[few.first + n])[i].x;
      L::gelu(value);
      if constexpr (kThen == Then::SumUp) {
        sum[i].x += value;
        return;
      }
      to[n * size + i].x = value;
      if constexpr (kThen == Then::Store) return;
      const Lane d = value - first[i].x, weighted = d * count[n];
      sum[i].x += weighted;
      squares[i].x += weighted * d;
    };
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t n = 0; n < few.count; ++n) {
        const Cell* row = h + n * size + k * pitch;
        if (attention.across) {
          const float share = softmax(row, attention.inverse);
          for (int64_t g = 0; g < groups; ++g) {
            Lane weighted = row[g].x * soft[g].x * share;
            finish(n, (inner + k) * pitch + g, weighted);
          }
        }
        for (int64_t g = 0; g < groups; ++g) {
          Lane same = row[g].x;
          finish(n, k * pitch + g, same);
        }
      }
  }

  // The steps after a linear layer of the input up to attention across configurations, to h_.
  HONE_INLINE void attend_normalised(const PackedAttention& attention, Few few) {
    for_groups([&]<int kGroups>(int64_t g) __attribute__((always_inline)) {
      for (int64_t n = 0; n < few.count; ++n) {
        normalise<kGroups>(panel(x_, few.first + n), inner_, g);
        attend_channels<kGroups>(attention, column_.data(), n, g);
      }
    });
  }

  HONE_INLINE void input_layers(const TGraphBatch& batch, const TGraphKinds& kinds) {
    begin_norm();
    for_few(kinds, [&](Few few) __attribute__((always_inline)) {
      for (int64_t kind = few.first; kind < few.first + few.count; ++kind)
        gather(batch, kinds.example[kind], panel(x_, kind));
      add_panels(kinds, few, inner_);
    });
    fit_norm(inner_);
    begin_norm();
    for_few(kinds, [&](Few few) __attribute__((always_inline)) {
      attend_normalised(network_.after_first, few);
      attend_configs<false, Then::Store>(network_.after_first, kinds, few, nullptr, out_.data());
      for_groups([&]<int kGroups>(int64_t g) __attribute__((always_inline)) {
        for (int64_t n = 0; n < few.count; ++n)
          L::template linear<kGroups>({out_.data() + n * size_ + g, pitch_}, network_.second,
                                      {panel(x_, few.first + n) + g, pitch_});
      });
      add_panels(kinds, few, inner_);
    });
    fit_norm(inner_);
    begin_norm();
    for_few(kinds, [&](Few few) __attribute__((always_inline)) {
      attend_normalised(network_.after_second, few);
      attend_configs<false, Then::Normalise>(network_.after_second, kinds, few, panel(x_, 0), panel(x_, few.first));
    });
  }

  // Both products of every kind's normalised panel, to products_: of its own, and as a neighbour where it is one. Products of
  // sums of neighbours are sums of their products.
  HONE_INLINE void multiply(const PackedBlock& block, const TGraphKinds& kinds) {
    for_few(kinds, [&](Few few) __attribute__((always_inline)) {
      for_groups([&]<int kGroups>(int64_t g) __attribute__((always_inline)) {
        for (int64_t kind = few.first; kind < few.first + few.count; ++kind) {
          const Inputs column{column_.data(), kGroups};
          Cell* const to = products_.get() + 2 * inner_ * pitch_ * kind + g;
          normalise<kGroups>(panel(x_, kind), hidden_, g);
          L::template linear<kGroups>(column, block.own, {to, pitch_});
          if (kinds.feeds[kind]) L::template linear<kGroups>(column, block.other, {to + inner_ * pitch_, pitch_});
        }
      });
    });
  }

  // What a node's product and those of its neighbours add up to, to narrow_.
  template <int kGroups>
  HONE_INLINE void add_up(const TGraphKinds& kinds, int64_t node, int64_t group) {
    const int64_t inner = inner_, pitch = pitch_;
    Cell* const to = narrow_.data();
    const Cell* const own = products_.get() + 2 * inner * pitch * kinds.of[node] + group;
    for (int64_t k = 0; k < inner; ++k)
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g) to[k * kGroups + g].x = own[k * pitch + g].x;
    for (int32_t e = neighbours_.begin[node]; e < neighbours_.begin[node + 1]; ++e) {
      const Cell* const x = products_.get() + (2 * kinds.of[neighbours_.node[e]] + 1) * inner * pitch + group;
      const float weight = neighbours_.weight[e];
      for (int64_t k = 0; k < inner; ++k)
#pragma GCC unroll 2
        for (int g = 0; g < kGroups; ++g) to[k * kGroups + g].x += x[k * pitch + g].x * weight;
    }
  }

  template <Then kThen>
  HONE_INLINE void block_layer(const PackedBlock& block, TGraphKinds& kinds) {
    fit_norm(hidden_);
    begin_norm();
    multiply(block, kinds);
    kinds.count.assign(nodes_, 1);  // neighbours differ
    for_few(kinds, [&](Few few) __attribute__((always_inline)) {
      for_groups([&]<int kGroups>(int64_t g) __attribute__((always_inline)) {
        for (int64_t n = 0; n < few.count; ++n) {
          add_up<kGroups>(kinds, few.first + n, g);
          attend_channels<kGroups>(block.attention, narrow_.data(), n, g);
        }
      });
      attend_configs<true, kThen>(block.attention, kinds, few, panel(next_, 0), panel(next_, few.first));
    });
    std::swap(x_, next_);
    kinds.separate(neighbours_);
  }

  HONE_INLINE void score(const TGraphBatch& batch, TGraphKinds& kinds, std::vector<float>& scores) {
    input_layers(batch, kinds);
    for (size_t b = 0; b + 1 < network_.blocks.size(); ++b) block_layer<Then::Normalise>(network_.blocks[b], kinds);
    block_layer<Then::SumUp>(network_.blocks.back(), kinds);
    const float share = 1 / static_cast<float>(nodes_);
    for (int64_t g = 0; g < groups_; ++g) {
      for (int64_t k = 0; k < hidden_; ++k) column_[k].x = sum_[k * pitch_ + g].x * share;
      L::template linear<1>({column_.data(), 1}, network_.last, {narrow_.data(), 1});
      for (int64_t c = g * kLanes; c < std::min(configs_, (g + 1) * kLanes); ++c) scores[c] = narrow_[0].x[c % kLanes];
    }
  }

  PackedTGraph network_;
  TGraphNeighbours neighbours_;
  int64_t hidden_, inner_, nodes_;
  int64_t configs_ = 0, groups_ = 0;
  int64_t pitch_ = 0, size_ = 0;                    // cells from one channel, one panel to the next
  std::unique_ptr<Cell[]> x_, next_;                // a panel for every node
  std::unique_ptr<Cell[]> products_;                // [nodes][2][inner][pitch]
  std::vector<Cell> h_, out_;                       // panels of kNodes nodes
  std::vector<Cell> sum_, squares_, mean_, scale_;  // panels: statistics over the most recently written nodes
  std::vector<Cell> column_, narrow_, squeezed_;    // [channels][kGroups]
  std::vector<Cell> soft_;                          // [groups], exponentials of one channel
  std::vector<Cell> present_;                       // [groups], 1, or 0 after the last configuration
};

}  // namespace

std::unique_ptr<TGraphScorer> TGraphScorer::make(const TGraphWeights& weights, const TGraphNeighbours& neighbours) {
  switch (lanes_in_use()) {
    case 16:
      return std::make_unique<Scorer<16>>(weights, neighbours);
    case 8:
      return std::make_unique<Scorer<8>>(weights, neighbours);
    default:
      return std::make_unique<Scorer<4>>(weights, neighbours);
  }
}

}  // namespace hone::cost
