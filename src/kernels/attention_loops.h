// Attention over blocks of keys that stay in the second-level cache, with the maximum and the sum of each row corrected from
// block to block (Dao et al. 2022, FlashAttention, algorithm 1); the scores of a few rows never leave the first-level cache.
//
// Included by one source for each width of vectors, which defines HONE_LANES, HONE_ROWS and HONE_KERNEL. Nothing else here may
// have external linkage, and no template of the standard library may be used: the linker would take it for other sources, too.

#include <cstdint>

#include "kernels/attention_products.h"
#include "kernels/attention_rows.h"

namespace hone {
namespace {

constexpr int64_t kKeys = 512;                  // of a block
constexpr int64_t kScoresRow = kKeys + kPanel;  // of no power of two, or rows would share few sets of the cache

HONE_INLINE Vector values_at(const ScoreStep& step, const float* values, int64_t column, int64_t left) {
  if (values == nullptr) return splat(step.number);
  if (step.values_column == 0) return splat(*values);
  if (left >= kLanes) return load(values + column);
  Vector some{};
  for (int64_t i = 0; i < left; ++i) some[i] = values[column + i];
  return some;
}

HONE_INLINE Integers which_at(const ScoreStep& step, const uint8_t* which, int64_t column, int64_t left) {
  const uint8_t holds = step.inverse ? 1 : 0;
  if (which == nullptr) return Integers{} == Integers{};
  if (step.which_column == 0) return (Integers{} + int32_t{*which} != 0) != (Integers{} + int32_t{holds} != 0);
  AnyBytes bytes{};
  if (left >= kLanes)
    bytes = *reinterpret_cast<const AnyBytes*>(which + column);
  else
    for (int64_t i = 0; i < left; ++i) bytes[i] = which[column + i];
  const Integers set = __builtin_convertvector(bytes, Integers) != 0;
  return step.inverse ? ~set : set;
}

void take_step(const ScoreStep& step, int64_t row, int64_t column, int64_t count, float* scores) {
  const float* values = step.values ? step.values + row * step.values_row + column * step.values_column : nullptr;
  const uint8_t* which = step.which ? step.which + row * step.which_row + column * step.which_column : nullptr;
  const Vector other = splat(step.other);
  for (int64_t j = 0; j < count; j += kLanes) {
    const Vector score = load(scores + j), value = values_at(step, values, j, count - j);
    Vector next = score * value;
    if (step.kind != ScoreStep::Multiply) {
      const Integers holds = which_at(step, which, j, count - j);
      next = step.kind == ScoreStep::Add ? score + (holds ? value : other) : (holds ? score : other);
    }
    store(scores + j, next);
  }
}

constexpr float kLeast = -__builtin_inff();

// The lanes brought together, by halves.
template <class Combine>
HONE_INLINE float folded(Vector values, Combine combine) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    Integers from;
    for (int64_t i = 0; i < kLanes; ++i) from[i] = static_cast<int32_t>((i + half) % kLanes);
    values = combine(values, __builtin_shuffle(values, from));
  }
  return values[0];
}

// The maximum and the sum of a row over the keys so far.
struct RowState {
  float best = kLeast, sum = 0;
};

// Scores become exponentials, less the best so far. Returns what the sums of earlier keys are to be multiplied by.
float soften(float* scores, int64_t count, RowState& state) {
  for (int64_t j = count; j < padded(count, kLanes); ++j) scores[j] = kLeast;
  Vector best[2] = {splat(state.best), splat(state.best)};
  for (int64_t j = 0; j < count; j += kPanel) {
    best[0] = greater(load(scores + j), best[0]);
    if (j + kLanes < count) best[1] = greater(load(scores + j + kLanes), best[1]);
  }
  const float most = folded(greater(best[0], best[1]), [](Vector a, Vector b) { return greater(a, b); });
  const Vector less = splat(most == kLeast ? 0 : most);  // a row of nothing but -inf has the sum 0
  Vector sums[2] = {};
  for (int64_t j = 0; j < count; j += kPanel) {
    const Vector a = exponential(load(scores + j) - less);
    store(scores + j, a);
    sums[0] += a;
    if (j + kLanes >= count) break;
    const Vector b = exponential(load(scores + j + kLanes) - less);
    store(scores + j + kLanes, b);
    sums[1] += b;
  }
  const float sum = folded(sums[0] + sums[1], [](Vector a, Vector b) { return a + b; });
  const float factor = exponential(splat(state.best) - less)[0];
  state.best = most;
  state.sum = state.sum * factor + sum;
  return factor;
}

// What lies in the scratch memory, one behind the other, each at a multiple of 64 bytes. Of null memory only the size counts.
struct Scratch {
  explicit Scratch(const AttentionRows& r, float* memory) {
    const int64_t keys_of_block = padded(least(r.keys, kKeys), kPanel);
    feature_row = padded(r.features, kLanes);
    keys = take(memory, keys_of_block * r.depth);
    values = take(memory, keys_of_block * padded(r.features, kPanel));
    queries = take(memory, r.rows * r.depth);
    results = take(memory, r.rows * feature_row);
    scores = take(memory, kRows * kScoresRow);
    states = reinterpret_cast<RowState*>(take(memory, 2 * r.rows));
  }
  float* take(float* memory, int64_t count) {
    float* taken = memory == nullptr ? nullptr : memory + size;
    size += padded(count, 16);
    return taken;
  }
  float *keys, *values, *queries, *results, *scores;
  RowState* states;
  int64_t feature_row, size = 0;
};

void begin(const AttentionRows& r, const Scratch& s) {
  for (int64_t m = 0; m < r.rows; ++m) {
    const float* from = r.query + m * r.query_row;
    float* to = s.queries + m * r.depth;
    int64_t k = 0;
    if (r.query_depth == 1)
      for (; k + kLanes <= r.depth; k += kLanes) store(to + k, load(from + k) * r.scale);
    for (; k < r.depth; ++k) to[k] = from[k * r.query_depth] * r.scale;
    s.states[m] = {};
  }
}

void end(const AttentionRows& r, const Scratch& s) {
  for (int64_t m = 0; m < r.rows; ++m) {
    const float* from = s.results + m * s.feature_row;
    float* to = r.output + m * r.output_row;
    const float sum = s.states[m].sum;
    int64_t e = 0;
    if (r.output_feature == 1)
      for (; e + kLanes <= r.features; e += kLanes) store(to + e, load(from + e) / sum);
    for (; e < r.features; ++e) to[e * r.output_feature] = from[e] / sum;
  }
}

// Keys and values in panels.
struct Block {
  int64_t from, count;
  bool finite;        // no value is infinite or not a number
  float longest_key;  // Euclidean
};

// The step that keys may be left out by: the last one, if it masks and nothing but a scale precedes what it adds to. Null: none.
const ScoreStep* mask_of(const AttentionRows& r) {
  if (r.step_count == 0) return nullptr;
  const ScoreStep& last = r.steps[r.step_count - 1];
  const bool masks = last.which != nullptr && last.which_column == 1 && last.kind != ScoreStep::Multiply;
  return masks && (last.kind == ScoreStep::Keep || r.step_count == 1) ? &last : nullptr;
}

Block packed_block(const AttentionRows& r, const Scratch& s, int64_t from, int64_t count) {
  pack(r.key + from * r.key_row, r.key_depth, r.key_row, r.depth, count, s.keys);
  pack(r.value + from * r.value_row, r.value_row, r.value_feature, count, r.features, s.values);
  Block block{from, count, false, 0};
  const ScoreStep* mask = mask_of(r);
  if (mask == nullptr) return block;
  Vector zeros{}, longest{};  // zeros, unless something is not finite
  for (int64_t i = 0; i < count * padded(r.features, kLanes); i += kLanes) zeros += load(s.values + i) * 0.0f;
  for (int64_t j = 0; mask->kind == ScoreStep::Add && j < count; j += kPanel)
    for (int64_t half = 0, width = count - j > kLanes ? kPanel : kLanes; half < width; half += kLanes) {
      Vector squares{};
      for (int64_t k = 0; k < r.depth; ++k) {
        const Vector key = load(s.keys + j * r.depth + k * width + half);
        squares += key * key;
      }
      zeros += squares * 0.0f;
      longest = greater(squares, longest);
    }
  block.finite = folded(zeros, [](Vector a, Vector b) { return a + b; }) == 0;
  block.longest_key = __builtin_sqrtf(folded(longest, greater));
  return block;
}

// Whether one of eight bytes of a mask holds.
HONE_INLINE bool any_holds(const uint8_t* which, bool inverse) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  uint64_t bytes;
  __builtin_memcpy(&bytes, which, sizeof bytes);
  return inverse ? ((bytes - kOnes) & ~bytes & (kOnes << 7)) != 0 : bytes != 0;
}

// How many keys of a block reach to the last that one of these rows does not mask, in whole panels.
int64_t reach(const ScoreStep& mask, int64_t row, int rows, const Block& block) {
  int64_t reached = 0;
  for (int m = 0; m < rows; ++m) {
    const uint8_t* which = mask.which + (row + m) * mask.which_row + block.from;
    int64_t n = block.count;
    while (n - 8 >= reached && !any_holds(which + n - 8, mask.inverse)) n -= 8;
    if (n < 8)
      while (n > reached && (which[n - 1] != 0) == mask.inverse) --n;
    reached = n > reached ? n : reached;
  }
  return least(padded(reached, kPanel), block.count);
}

// Whether what is masked is as good as nothing beside the best score of each row so far: its exponential is 0.
bool vanishes(const ScoreStep& mask, const AttentionRows& r, const Scratch& s, int64_t row, int rows,
              const Block& block) {
  if (!block.finite) return false;
  float most = mask.other;
  if (mask.kind ==
      ScoreStep::Add) {  // a score is at most the product of both lengths, a row's at most that of all rows
    const float* queries = s.queries + row * r.depth;
    Vector squares{};
    int64_t i = 0;
    for (; i + kLanes <= rows * r.depth; i += kLanes) squares += load(queries + i) * load(queries + i);
    float sum = folded(squares, [](Vector a, Vector b) { return a + b; });
    for (; i < rows * r.depth; ++i) sum += queries[i] * queries[i];
    most += 1.001f * __builtin_sqrtf(sum) * block.longest_key;
  }
  bool all = true;
  for (int64_t m = row; m < row + rows; ++m) all &= most - s.states[m].best < -104.0f && s.states[m].best != -kLeast;
  return all;
}

// Some rows with the keys [first, end) of a block.
void some_keys(const AttentionRows& r, const Scratch& s, int64_t row, int rows, const Block& block, int64_t first,
               int64_t end) {
  const int64_t count = end - first;
  const Product scores{
      s.queries + row * r.depth, r.depth, s.keys + first * r.depth, r.depth, s.scores, kScoresRow, nullptr};
  product_of_panels(rows, scores, count, kPanel * r.depth);
  float factors[kRows];
  for (int i = 0; i < rows; ++i) {
    float* of_row = s.scores + i * kScoresRow;
    for (int64_t step = 0; step < r.step_count; ++step)
      take_step(r.steps[step], row + i, block.from + first, count, of_row);
    factors[i] = soften(of_row, count, s.states[row + i]);
  }
  const bool begins = block.from + first == 0;
  for (int64_t j = 0; j < r.features; j += kPanel) {
    const int64_t width = r.features - j > kLanes ? kPanel : kLanes;
    const Product results{s.scores,
                          kScoresRow,
                          s.values + j * block.count + first * width,
                          count,
                          s.results + row * s.feature_row + j,
                          s.feature_row,
                          begins ? nullptr : factors};
    product_of_panels(rows, results, width, 0);
  }
}

void block_of_keys(const AttentionRows& r, const Scratch& s, int64_t from, int64_t count) {
  const Block block = packed_block(r, s, from, count);
  const ScoreStep* mask = mask_of(r);
  for (int64_t m = 0; m < r.rows; m += kRows) {
    const int rows = static_cast<int>(least(kRows, r.rows - m));
    const int64_t reached = mask ? reach(*mask, m, rows, block) : count;
    if (reached > 0) some_keys(r, s, m, rows, block, 0, reached);
    if (reached < count && (from + reached == 0 || !vanishes(*mask, r, s, m, rows, block)))
      some_keys(r, s, m, rows, block, reached, count);
  }
}

int64_t scratch(const AttentionRows& rows) { return Scratch(rows, nullptr).size; }

void compute(const AttentionRows& rows, float* at) {
  const Scratch s(rows, at);
  begin(rows, s);
  for (int64_t from = 0; from < rows.keys; from += kKeys) block_of_keys(rows, s, from, least(kKeys, rows.keys - from));
  end(rows, s);
}

}  // namespace

const AttentionKernel HONE_KERNEL = {scratch, compute};

}  // namespace hone
