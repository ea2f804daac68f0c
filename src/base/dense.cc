#include "base/dense.h"

#include <cmath>

#include "base/error.h"
#include "base/lanes.h"

namespace hone::dense {

namespace {

constexpr int64_t kRows = 8;       // of a block: as many sums are in registers
constexpr double kEpsilon = 1e-5;  // of torch::nn::LayerNorm

struct Multiply {
  template <int kLanes>
  static HONE_INLINE void run(const Product& p) {
    int64_t row = 0;
    for (; row + kRows <= p.rows; row += kRows) rows<kLanes, kRows>(p, row);
    for (; row + 2 <= p.rows; row += 2) rows<kLanes, 2>(p, row);
    for (; row < p.rows; ++row) rows<kLanes, 1>(p, row);
  }

  template <int kLanes, int kCount>
  static HONE_INLINE void rows(const Product& p, int64_t first) {
    using L = Lanes<kLanes>;
    const float* a = p.a.data + first * p.a.stride;
    float* c = p.c + first * p.c_stride;
    for (int64_t j = 0; j < p.columns; j += kLanes) {
      typename L::Lane sum[kCount];
#pragma GCC unroll 8
      for (int r = 0; r < kCount; ++r) sum[r] = p.bias ? L::at(p.bias + j) : L::at(c + r * p.c_stride + j);
      const float* b = p.b.data + j;
      for (int64_t k = 0; k < p.depth; ++k, b += p.b.stride) {
        const typename L::Lane factor = L::at(b);
#pragma GCC unroll 8
        for (int r = 0; r < kCount; ++r) sum[r] += a[r * p.a.stride + k] * factor;
      }
#pragma GCC unroll 8
      for (int r = 0; r < kCount; ++r) L::put(sum[r], c + r * p.c_stride + j);
    }
  }
};

struct Exponentials {
  template <int kLanes>
  static HONE_INLINE void run(float* x, int64_t rows, int64_t columns, float scale, float* inverse_sums) {
    using L = Lanes<kLanes>;
    const int64_t stride = padded(columns);
    for (int64_t r = 0; r < rows; ++r) {
      float* row = x + r * stride;
      for (int64_t j = columns; j < stride; ++j) row[j] = row[0];
      typename L::Lane top = L::at(row), sum{};
      for (int64_t j = kLanes; j < stride; j += kLanes) top = top < L::at(row + j) ? L::at(row + j) : top;
      float most = top[0];
      for (int l = 1; l < kLanes; ++l) most = std::max(most, top[l]);
      for (int64_t j = 0; j < stride; j += kLanes) {
        typename L::Lane e = (L::at(row + j) - most) * scale;
        L::bound(e, 87);
        L::exponential(e);
        L::put(e, row + j);
      }
      for (int64_t j = columns; j < stride; ++j) row[j] = 0;
      for (int64_t j = 0; j < stride; j += kLanes) sum += L::at(row + j);
      inverse_sums[r] = 1 / L::sum(sum);
    }
  }
};

struct NormaliseRow {
  template <int kLanes>
  static HONE_INLINE void run(const LayerNorm& norm, const float* x, int64_t columns, float* y) {
    using L = Lanes<kLanes>;
    const int64_t whole = columns / kLanes * kLanes;
    typename L::Lane sums{}, squares{};
    for (int64_t c = 0; c < whole; c += kLanes) sums += L::at(x + c);
    float sum = L::sum(sums);
    for (int64_t c = whole; c < columns; ++c) sum += x[c];
    const float mean = sum / static_cast<float>(columns);
    for (int64_t c = 0; c < whole; c += kLanes) squares += (L::at(x + c) - mean) * (L::at(x + c) - mean);
    float square = L::sum(squares);
    for (int64_t c = whole; c < columns; ++c) square += (x[c] - mean) * (x[c] - mean);
    const auto factor = static_cast<float>(1 / std::sqrt(square / static_cast<double>(columns) + kEpsilon));
    const float *weight = norm.weight.data(), *bias = norm.bias.data();
    for (int64_t c = 0; c < whole; c += kLanes)
      L::put((L::at(x + c) - mean) * factor * L::at(weight + c) + L::at(bias + c), y + c);
    for (int64_t c = whole; c < columns; ++c) y[c] = (x[c] - mean) * factor * weight[c] + bias[c];
  }
};

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

int64_t padded(int64_t columns) { return (columns + kMostLanes - 1) / kMostLanes * kMostLanes; }

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

void multiply(const Product& product) { run_wide<Multiply>(product); }

void exponentials(float* x, int64_t rows, int64_t columns, float scale, float* inverse_sums) {
  run_wide<Exponentials>(x, rows, columns, scale, inverse_sums);
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
    for (int64_t i = first; i < last; ++i) run_wide<NormaliseRow>(norm, x.row(i), x.columns, y.row(i));
  });
  return y;
}

void relu(Matrix& x) { relu(x.values.data(), static_cast<int64_t>(x.values.size())); }

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
