// The final state of an LSTM (Hochreiter and Schmidhuber 1997) over the nodes of a kernel in topological order.
#include <algorithm>
#include <numeric>

#include "models/network.h"

namespace hone::models {

namespace {

// Copies by descending length, and the rows of all their first nodes, then all their second nodes, and so on: the packed
// form that libtorch's LSTM reads, without padding.
struct Packed {
  torch::Tensor rows;       // [rows], int64
  torch::Tensor lengths;    // [steps], int64: copies that are still running
  torch::Tensor place;      // [copies], int64: where a copy stands in the order
};

Packed pack(const Rows& rows) {
  std::vector<int64_t> kernels(rows.kernels());
  std::iota(kernels.begin(), kernels.end(), int64_t{0});
  std::stable_sort(kernels.begin(), kernels.end(), [&](int64_t a, int64_t b) { return rows.nodes_of(a) > rows.nodes_of(b); });
  const int64_t steps = kernels.empty() ? 0 : rows.nodes_of(kernels[0]);
  Packed packed{torch::empty({rows.rows()}, torch::kLong), torch::empty({steps}, torch::kLong),
                torch::empty({rows.copies()}, torch::kLong)};
  int64_t* row = packed.rows.data_ptr<int64_t>();
  for (int64_t step = 0; step < steps; ++step) {
    int64_t running = 0;
    for (int64_t k : kernels) {
      if (rows.nodes_of(k) <= step) break;
      for (int64_t copy = 0; copy < rows.copies_of(k); ++copy)
        *row++ = rows.row_begin[k] + copy * rows.nodes_of(k) + step;
      running += rows.copies_of(k);
    }
    packed.lengths.data_ptr<int64_t>()[step] = running;
  }
  int64_t place = 0;
  for (int64_t k : kernels)
    for (int64_t copy = rows.copy_begin[k]; copy < rows.copy_begin[k + 1]; ++copy)
      packed.place.data_ptr<int64_t>()[copy] = place++;
  return packed;
}

struct Lstm : ReductionLayer {
  explicit Lstm(const ModelOptions& options)
      : hidden(options.hidden),
        input(register_module("input", linear(hidden, 4 * hidden))),
        state(register_module("state", linear(hidden, 4 * hidden))) {}

  torch::Tensor forward(const torch::Tensor& x, const Rows& rows) override {
    const Packed packed = pack(rows);
    const torch::Tensor zero = torch::zeros({1, rows.copies(), hidden});
    const auto [all, last, cell] = torch::lstm(x.index_select(0, packed.rows), packed.lengths, {zero, zero},
                                               {input->weight, state->weight}, /*has_biases=*/false, /*num_layers=*/1,
                                               /*dropout=*/0.0, /*train=*/false, /*bidirectional=*/false);
    return last.squeeze(0).index_select(0, packed.place);  // [copies, hidden]
  }
  int64_t width() const override { return hidden; }

  int64_t hidden;
  torch::nn::Linear input, state;
};

}  // namespace

std::shared_ptr<ReductionLayer> make_lstm_reduction(const ModelOptions& options) { return std::make_shared<Lstm>(options); }

}  // namespace hone::models
