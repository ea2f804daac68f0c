// Dense layers of small networks, for inference without torch: products in blocks of rows, normalisation, maxima over
// neighbours. float32; with several threads the rows are divided among them, and results are the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

namespace hone::dense {

int64_t padded(int64_t columns);  // to whole vectors of 16

// Rows of numbers; what follows the last column of a row is padding.
struct Matrix {
  Matrix() = default;
  Matrix(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), stride(padded(columns)), values(rows * stride) {}
  float* row(int64_t i) { return values.data() + i * stride; }
  const float* row(int64_t i) const { return values.data() + i * stride; }
  int64_t rows = 0, columns = 0, stride = 0;
  std::vector<float> values;  // [rows, stride]
};
Matrix matrix_of(std::span<const float> values, int64_t rows, int64_t columns);
std::vector<float> values_of(const Matrix& x);  // [rows, columns], without the padding

// As torch::nn::Linear, whose weights [outputs, inputs] are stored by columns, with zeros as padding.
struct Linear {
  Linear() = default;
  Linear(std::span<const float> weights, std::span<const float> given_bias, int64_t outputs, int64_t inputs);
  int64_t inputs = 0, outputs = 0, stride = 0;
  std::vector<float> weights;  // [inputs, stride]
  std::vector<float> bias;     // [stride]
};

// Where a product reads and writes: element (i, j) is at data + i * stride + j.
struct Block {
  const float* data;
  int64_t stride;
};

// c = a b + c, or + bias if it is given: rows x depth times depth x columns. Columns are whole vectors: b and c are padded.
struct Product {
  Block a, b;
  const float* bias;  // [columns], or null: c is added to
  float* c;
  int64_t c_stride, rows, depth, columns;
};
void multiply(const Product& product);

// e^(scale (x - the row's maximum)) over the first `columns` of each row, 0 in the padding; returns 1 / sum for each row.
void exponentials(float* x, int64_t rows, int64_t columns, float scale, float* inverse_sums);

enum class After { Nothing, Relu };
Matrix linear(const Linear& layer, const Matrix& x, int threads, After after = After::Nothing);
void add_linear(const Linear& layer, const Matrix& x, int threads, Matrix& y);  // y += layer(x)

struct LayerNorm {
  std::vector<float> weight, bias;  // [columns]
};
Matrix layer_norm(const LayerNorm& norm, const Matrix& x, int threads);
void relu(Matrix& x);
void add(const Matrix& x, Matrix& y);              // y += x
std::vector<float> mean_of_rows(const Matrix& x);  // [columns]

// A block of columns of a matrix.
struct Columns {
  int64_t first, count;
};
// y[v, to + c] = max over neighbours u of x[u, from.first + c], at least 0. `begin` [rows + 1] and `node`: compressed rows.
void max_of_neighbours(const Matrix& x, Columns from, std::span<const int32_t> begin, std::span<const int32_t> node,
                       float* y, int64_t stride);

// Calls work(first, last) for parts of the rows, in threads if there are enough rows.
template <class Work>
void in_parts(int64_t rows, int threads, const Work& work) {
  constexpr int64_t kLeast = 512;  // rows worth a thread
  const int64_t parts = std::clamp<int64_t>(rows / kLeast, 1, threads);
  std::vector<std::jthread> helpers;
  for (int64_t p = 1; p < parts; ++p)
    helpers.emplace_back([&work, rows, parts, p] { work(rows * p / parts, rows * (p + 1) / parts); });
  work(0, rows / parts);
}

}  // namespace hone::dense
