// The final state of an LSTM (Hochreiter and Schmidhuber 1997) over the nodes of a kernel in topological order.
#include <algorithm>
#include <bit>
#include <map>

#include "learn/nets/network.h"

namespace hone::learn {

namespace {

// Copies of kernels of similar length in time-major order, shorter ones padded with zero rows in front. Without biases
// a zero input keeps a zero state zero, so the padding changes nothing; and one call on full sequences takes libtorch's
// oneDNN path, unlike packed sequences.
struct Group {
  torch::Tensor source;  // [steps * copies], int64: a row of x, or the zero row behind the last
  int64_t steps = 0;
  std::vector<int64_t> copies;
};

std::vector<Group> group(const Rows& rows) {
  std::map<uint64_t, std::vector<int64_t>> classes;  // kernels by their length, rounded up to a power of two
  for (int64_t k = 0; k < rows.kernels(); ++k)
    classes[std::bit_ceil(static_cast<uint64_t>(rows.nodes_of(k)))].push_back(k);
  std::vector<Group> groups;
  for (const auto& [bound, kernels] : classes) {
    Group& g = groups.emplace_back();
    int64_t count = 0;
    for (int64_t k : kernels) {
      g.steps = std::max(g.steps, rows.nodes_of(k));
      count += rows.copies_of(k);
    }
    g.source = torch::full({g.steps * count}, rows.rows(), torch::kLong);
    int64_t* source = g.source.data_ptr<int64_t>();
    for (int64_t k : kernels)
      for (int64_t copy = 0; copy < rows.copies_of(k); ++copy) {
        const auto column = static_cast<int64_t>(g.copies.size());
        const int64_t first = rows.row_begin[k] + copy * rows.nodes_of(k), empty = g.steps - rows.nodes_of(k);
        for (int64_t i = 0; i < rows.nodes_of(k); ++i) source[(empty + i) * count + column] = first + i;
        g.copies.push_back(rows.copy_begin[k] + copy);
      }
  }
  return groups;
}

struct Lstm : ReductionLayer {
  explicit Lstm(const options::ModelOptions& options)
      : hidden(options.hidden),
        input(register_module("input", linear(hidden, 4 * hidden))),
        state(register_module("state", linear(hidden, 4 * hidden))) {}

  torch::Tensor forward(const torch::Tensor& x, const Rows& rows) override {
    const torch::Tensor padded = torch::cat({x, torch::zeros({1, hidden})});  // [rows + 1, hidden]
    torch::Tensor place = torch::empty({rows.copies()}, torch::kLong);
    std::vector<torch::Tensor> states;
    int64_t done = 0;
    for (const Group& g : group(rows)) {
      const auto count = static_cast<int64_t>(g.copies.size());
      const torch::Tensor sequence = padded.index_select(0, g.source).view({g.steps, count, hidden});
      const torch::Tensor zero = torch::zeros({1, count, hidden});
      const auto [all, last, cell] =
          torch::lstm(sequence, {zero, zero}, {input->weight, state->weight}, /*has_biases=*/false,
                      /*num_layers=*/1, /*dropout=*/0.0, /*train=*/is_training(),
                      /*bidirectional=*/false, /*batch_first=*/false);
      states.push_back(last.squeeze(0));
      for (int64_t copy : g.copies) place.data_ptr<int64_t>()[copy] = done++;
    }
    return torch::cat(states).index_select(0, place);  // [copies, hidden]
  }
  int64_t width() const override { return hidden; }

  int64_t hidden;
  torch::nn::Linear input, state;
};

}  // namespace

std::shared_ptr<ReductionLayer> make_lstm_reduction(const options::ModelOptions& options) {
  return std::make_shared<Lstm>(options);
}

}  // namespace hone::learn
