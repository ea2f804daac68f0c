#include "go/go_layers.h"

#include <cmath>

#include "options/tensor_values.h"

namespace hone::go {

using dense::Matrix;

std::vector<float> GoTensors::values(const std::string& name, const std::vector<int64_t>& shape) const {
  return options::tensor_values<float>(file_, name, "F32", shape);
}

dense::Linear GoTensors::linear(const std::string& name, int64_t inputs, int64_t outputs) const {
  return {values(name + ".weight", {outputs, inputs}), values(name + ".bias", {outputs}), outputs, inputs};
}

dense::LayerNorm GoTensors::norm(const std::string& name, int64_t width) const {
  return {values(name + ".weight", {width}), values(name + ".bias", {width})};
}

GoSage::GoSage(const GoTensors& tensors, const std::string& name, int64_t hidden)
    : pool_(tensors.linear(name + ".pool", hidden, 2 * hidden)),
      combine_(tensors.linear(name + ".combine", 3 * hidden, hidden)),
      norm_(tensors.norm(name + ".norm", hidden)) {}

Matrix GoSage::forward(const Matrix& x, const GoGraph& graph, int threads) const {
  const int64_t hidden = x.columns;
  const Matrix z = dense::linear(pool_, x, threads, dense::After::Relu);  // [nodes, 2 * hidden]
  Matrix both(x.rows, 3 * hidden);
  for (int64_t v = 0; v < x.rows; ++v) std::copy_n(x.row(v), hidden, both.row(v));
  dense::max_of_neighbours(z, {0, hidden}, graph.producers.begin, graph.producers.node, both.row(0) + hidden,
                           both.stride);
  dense::max_of_neighbours(z, {hidden, hidden}, graph.users.begin, graph.users.node, both.row(0) + 2 * hidden,
                           both.stride);
  Matrix y = dense::linear(combine_, both, threads, dense::After::Relu);
  dense::add(x, y);
  return dense::layer_norm(norm_, y, threads);
}

// The queries of nodes first .. last - 1, and the keys and values of nodes seen .. last - 1.
struct GoAttended::Segment {
  const Matrix &query, &key_value;
  int64_t seen, first, last;
};

GoAttended::GoAttended(const GoTensors& tensors, const std::string& name, const options::GoOptions& options)
    : modulation_(options.modulation),
      recurrence_(options.recurrence),
      hidden_(options.hidden),
      heads_(options.heads),
      segment_(options.segment),
      query_(tensors.linear(name + ".attention.query", hidden_, hidden_)),
      key_value_(tensors.linear(name + ".attention.key_value", hidden_, 2 * hidden_)),
      attended_(tensors.linear(name + ".attention.attended", hidden_, hidden_)),
      wide_(tensors.linear(name + ".attention.wide", hidden_, 2 * hidden_)),
      narrow_(tensors.linear(name + ".attention.narrow", 2 * hidden_, hidden_)),
      norm1_(tensors.norm(name + ".attention.norm1", hidden_)),
      norm2_(tensors.norm(name + ".attention.norm2", hidden_)) {
  if (modulation_) modulate_ = tensors.linear(name + ".modulate", hidden_, hidden_);
}

void GoAttended::modulate(std::span<const float> pooled, Matrix& x) const {
  const Matrix logits = dense::linear(modulate_, dense::matrix_of(pooled, 1, hidden_), 1);
  std::vector<float> factor(hidden_);
  for (int64_t c = 0; c < hidden_; ++c) factor[c] = 2 / (1 + std::exp(-logits.values[c]));
  for (int64_t v = 0; v < x.rows; ++v)
    for (int64_t c = 0; c < hidden_; ++c) x.row(v)[c] *= factor[c];
}

void GoAttended::attend_segment(const Segment& segment, Matrix& out) const {
  const int64_t width = hidden_ / heads_, keys = segment.last - segment.seen, queries = segment.last - segment.first;
  Matrix transposed(width, keys), values(keys, width), scores(queries, keys), sums(queries, width);
  std::vector<float> inverse(queries);
  const std::vector<float> zero(std::max(scores.stride, sums.stride));
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(width)));
  for (int64_t h = 0; h < heads_; ++h) {
    for (int64_t k = 0; k < keys; ++k) {
      const float* row = segment.key_value.row(segment.seen + k) + h * width;
      for (int64_t i = 0; i < width; ++i) transposed.row(i)[k] = row[i];
      std::copy_n(row + hidden_, width, values.row(k));
    }
    const dense::Block query{segment.query.row(segment.first) + h * width, segment.query.stride};
    dense::multiply({query,
                     {transposed.row(0), transposed.stride},
                     zero.data(),
                     scores.row(0),
                     scores.stride,
                     queries,
                     width,
                     scores.stride});
    dense::exponentials(scores.row(0), queries, keys, scale, inverse.data());
    dense::multiply({{scores.row(0), scores.stride},
                     {values.row(0), values.stride},
                     zero.data(),
                     sums.row(0),
                     sums.stride,
                     queries,
                     keys,
                     sums.stride});
    for (int64_t q = 0; q < queries; ++q)
      for (int64_t i = 0; i < width; ++i) out.row(segment.first + q)[h * width + i] = sums.row(q)[i] * inverse[q];
  }
}

Matrix GoAttended::attend(const Matrix& query, const Matrix& key_value, int threads) const {
  Matrix out(query.rows, hidden_);
  const int64_t segments = (query.rows + segment_ - 1) / segment_;
  dense::in_parts(query.rows, threads, [&](int64_t first_row, int64_t last_row) {
    for (int64_t s = 0; s < segments; ++s) {
      const int64_t first = s * segment_;
      if (first < first_row || first >= last_row) continue;
      attend_segment({query, key_value, recurrence_ && s > 0 ? first - segment_ : first, first,
                      std::min(first + segment_, query.rows)},
                     out);
    }
  });
  return out;
}

Matrix GoAttended::forward(Matrix x, std::span<const float> pooled, int threads) const {
  if (modulation_) modulate(pooled, x);
  const Matrix normed = dense::layer_norm(norm1_, x, threads);
  const Matrix attended =
      attend(dense::linear(query_, normed, threads), dense::linear(key_value_, normed, threads), threads);
  dense::add_linear(attended_, attended, threads, x);
  const Matrix wide = dense::linear(wide_, dense::layer_norm(norm2_, x, threads), threads, dense::After::Relu);
  dense::add_linear(narrow_, wide, threads, x);
  return x;
}

}  // namespace hone::go
