#include "base/dense.h"

#include <cmath>

#include "base/error.h"
#include "base/lanes.h"

namespace hone::dense {

namespace {

constexpr int64_t kRows = 8;       // of a block: as many sums are in registers
constexpr double kEpsilon = 1e-5;  // of torch::nn::LayerNorm

HONE_INLINE const UnalignedLane& lane(const float* at) { return *reinterpret_cast<const UnalignedLane*>(at); }
HONE_INLINE void put(const Lane& x, float* at) { *reinterpret_cast<UnalignedLane*>(at) = x; }

template <int kCount>
HONE_INLINE void multiply_rows(const Product& p, int64_t first) {
  const float* a = p.a.data + first * p.a.stride;
  float* c = p.c + first * p.c_stride;
  for (int64_t j = 0; j < p.columns; j += kLanes) {
    Lane sum[kCount];
#pragma GCC unroll 8
    for (int r = 0; r < kCount; ++r) sum[r] = p.bias ? lane(p.bias + j) : lane(c + r * p.c_stride + j);
    const float* b = p.b.data + j;
    for (int64_t k = 0; k < p.depth; ++k, b += p.b.stride) {
      const Lane factor = lane(b);
#pragma GCC unroll 8
      for (int r = 0; r < kCount; ++r) sum[r] += a[r * p.a.stride + k] * factor;
    }
#pragma GCC unroll 8
    for (int r = 0; r < kCount; ++r) put(sum[r], c + r * p.c_stride + j);
  }
}

HONE_WIDE void multiply_wide(const Product& p) {
  int64_t row = 0;
  for (; row + kRows <= p.rows; row += kRows) multiply_rows<kRows>(p, row);
  for (; row + 2 <= p.rows; row += 2) multiply_rows<2>(p, row);
  for (; row < p.rows; ++row) multiply_rows<1>(p, row);
}

HONE_WIDE void exponentials_wide(float* x, int64_t rows, int64_t columns, float scale, float* inverse_sums) {
  const int64_t stride = padded(columns), last = stride - kLanes;
  for (int64_t r = 0; r < rows; ++r) {
    float* row = x + r * stride;
    for (int64_t j = columns; j < stride; ++j) row[j] = row[0];
    Lane top = lane(row);
    for (int64_t j = kLanes; j < stride; j += kLanes) top = top < lane(row + j) ? lane(row + j) : top;
    float most = top[0];
    for (int64_t l = 1; l < kLanes; ++l) most = std::max(most, top[l]);
    Lane sum{};
    for (int64_t j = 0; j < stride; j += kLanes) {
      Lane e = (lane(row + j) - most) * scale;
      bound(e, 87);
      exponential(e);
      put(e, row + j);
      if (j < last) sum += e;
    }
    float total = 0;
    for (int64_t j = columns; j < stride; ++j) row[j] = 0;
    for (int64_t l = 0; l < kLanes; ++l) total += sum[l] + row[last + l];
    inverse_sums[r] = 1 / total;
  }
}

// Plain loops, which the compiler turns into vectors at this level.
#define HONE_LOOPS __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))

HONE_LOOPS void keep_larger(const float* x, float* best, int64_t count) {
  for (int64_t c = 0; c < count; ++c) best[c] = x[c] > best[c] ? x[c] : best[c];
}

HONE_LOOPS void add_values(const float* x, int64_t count, float* y) {
  for (int64_t i = 0; i < count; ++i) y[i] += x[i];
}

HONE_LOOPS void relu(float* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x[i] = x[i] > 0 ? x[i] : 0.0f;
}

HONE_INLINE float total(const Lane& x) {
  float sum = 0;
  for (int64_t l = 0; l < kLanes; ++l) sum += x[l];
  return sum;
}

HONE_WIDE void normalise_row(const LayerNorm& norm, const float* x, int64_t columns, float* y) {
  const int64_t whole = columns / kLanes * kLanes;
  Lane sums{}, squares{};
  for (int64_t c = 0; c < whole; c += kLanes) sums += lane(x + c);
  float sum = total(sums), square = 0;
  for (int64_t c = whole; c < columns; ++c) sum += x[c];
  const float mean = sum / static_cast<float>(columns);
  for (int64_t c = 0; c < whole; c += kLanes) squares += (lane(x + c) - mean) * (lane(x + c) - mean);
  square = total(squares);
  for (int64_t c = whole; c < columns; ++c) square += (x[c] - mean) * (x[c] - mean);
  const auto factor = static_cast<float>(1 / std::sqrt(square / static_cast<double>(columns) + kEpsilon));
  const float *weight = norm.weight.data(), *bias = norm.bias.data();
  for (int64_t c = 0; c < whole; c += kLanes)
    put((lane(x + c) - mean) * factor * lane(weight + c) + lane(bias + c), y + c);
  for (int64_t c = whole; c < columns; ++c) y[c] = (x[c] - mean) * factor * weight[c] + bias[c];
}

void run(const Linear& layer, const Matrix& x, const float* bias, int64_t first, int64_t last, Matrix& y) {
  multiply({{x.row(first), x.stride},
            {layer.weights.data(), layer.stride},
            bias,
            y.row(first),
            y.stride,
            last - first,
            layer.inputs,
            layer.stride});
}

void require(bool fits) {
  if (!fits) throw InternalError("a dense layer was given a matrix of another width");
}

}  // namespace

int64_t padded(int64_t columns) { return (columns + kLanes - 1) / kLanes * kLanes; }

Matrix matrix_of(std::span<const float> values, int64_t rows, int64_t columns) {
  require(static_cast<int64_t>(values.size()) == rows * columns);
  Matrix x(rows, columns);
  for (int64_t i = 0; i < rows; ++i) std::copy_n(values.data() + i * columns, columns, x.row(i));
  return x;
}

std::vector<float> values_of(const Matrix& x) {
  std::vector<float> values;
  values.reserve(x.rows * x.columns);
  for (int64_t i = 0; i < x.rows; ++i) values.insert(values.end(), x.row(i), x.row(i) + x.columns);
  return values;
}

Linear::Linear(std::span<const float> given, std::span<const float> given_bias, int64_t outputs, int64_t inputs)
    : inputs(inputs), outputs(outputs), stride(padded(outputs)), weights(inputs * stride), bias(stride) {
  for (int64_t k = 0; k < outputs; ++k)
    for (int64_t i = 0; i < inputs; ++i) weights[i * stride + k] = given[k * inputs + i];
  std::copy(given_bias.begin(), given_bias.end(), bias.begin());
}

void multiply(const Product& product) { multiply_wide(product); }

void exponentials(float* x, int64_t rows, int64_t columns, float scale, float* inverse_sums) {
  exponentials_wide(x, rows, columns, scale, inverse_sums);
}

Matrix linear(const Linear& layer, const Matrix& x, int threads, After after) {
  require(x.columns == layer.inputs);
  Matrix y(x.rows, layer.outputs);
  in_parts(x.rows, threads, [&](int64_t first, int64_t last) {
    run(layer, x, layer.bias.data(), first, last, y);
    if (after == After::Relu) relu(y.row(first), (last - first) * y.stride);
  });
  return y;
}

void add_linear(const Linear& layer, const Matrix& x, int threads, Matrix& y) {
  require(x.columns == layer.inputs && y.columns == layer.outputs && x.rows == y.rows);
  in_parts(x.rows, threads, [&](int64_t first, int64_t last) {
    run(layer, x, nullptr, first, last, y);
    for (int64_t i = first; i < last; ++i) add_values(layer.bias.data(), y.stride, y.row(i));
  });
}

Matrix layer_norm(const LayerNorm& norm, const Matrix& x, int threads) {
  require(x.columns == static_cast<int64_t>(norm.weight.size()));
  Matrix y(x.rows, x.columns);
  in_parts(x.rows, threads, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) normalise_row(norm, x.row(i), x.columns, y.row(i));
  });
  return y;
}

void add(const Matrix& x, Matrix& y) {
  require(x.columns == y.columns && x.rows == y.rows);
  add_values(x.values.data(), static_cast<int64_t>(x.values.size()), y.values.data());
}

std::vector<float> mean_of_rows(const Matrix& x) {
  std::vector<double> sum(x.columns);
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t c = 0; c < x.columns; ++c) sum[c] += x.row(i)[c];
  std::vector<float> mean;
  for (const double one : sum) mean.push_back(static_cast<float>(one / static_cast<double>(x.rows)));
  return mean;
}

void max_of_neighbours(const Matrix& x, Columns from, std::span<const int32_t> begin, std::span<const int32_t> node,
                       float* y, int64_t stride) {
  for (int64_t v = 0; v < x.rows; ++v) {
    float* best = y + v * stride;
    std::fill_n(best, from.count, 0.0f);
    for (int32_t e = begin[v]; e < begin[v + 1]; ++e) keep_larger(x.row(node[e]) + from.first, best, from.count);
  }
}

}  // namespace hone::dense
