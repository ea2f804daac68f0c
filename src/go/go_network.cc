#include "go/go_network.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "features/opcodes.h"
#include "go/go_layers.h"

namespace hone::go {

namespace {

using dense::Matrix;
using options::GoOptions;
using options::GoTask;

constexpr int64_t kDeviceWidth = 16;  // as in learn/go/go_policy.cc

// Rows of a table, which are added to the nodes that choose them.
struct Table {
  std::vector<float> rows;  // [entries, hidden]
  int64_t entries = 0;

  template <class Index>
  void add(const std::vector<Index>& index, Matrix& x) const {
    for (int64_t v = 0; v < x.rows; ++v) {
      const int64_t i = index[v];
      if (i < 0 || i >= entries) throw InternalError("a decision is none of the policy's");
      const float* row = rows.data() + i * x.columns;
      for (int64_t c = 0; c < x.columns; ++c) x.row(v)[c] += row[c];
    }
  }
};

// The scores of devices by their loads and neighbours.
struct DeviceScores {
  dense::Linear query, key, plain;

  void add(const Matrix& z, const GoGraph& graph, const GoState& state, int threads, Matrix& y) const {
    const Matrix q = dense::linear(query, z, threads);  // [nodes, kDeviceWidth]
    // q . (K f + k) = (q K) . f + q . k: one row of factors for all devices of a node.
    std::vector<float> factor(kGoDeviceNumbers);
    for (int64_t v = 0; v < z.rows; ++v) {
      float constant = plain.bias[0];
      for (int64_t w = 0; w < kDeviceWidth; ++w) constant += q.row(v)[w] * key.bias[w];
      for (int64_t f = 0; f < kGoDeviceNumbers; ++f) {
        factor[f] = plain.weights[f * plain.stride];
        for (int64_t w = 0; w < kDeviceWidth; ++w) factor[f] += q.row(v)[w] * key.weights[f * key.stride + w];
      }
      for (int64_t d = 0; d < graph.devices; ++d) {
        const float* numbers = state.device_numbers.data() + (v * graph.devices + d) * kGoDeviceNumbers;
        float sum = constant;
        for (int64_t f = 0; f < kGoDeviceNumbers; ++f) sum += factor[f] * numbers[f];
        y.row(v)[d] += sum;
      }
    }
  }
};

struct Head {
  GoTask task;
  Table decided;
  std::vector<GoAttended> layers;
  dense::Linear output;
  float stay = 0;
};

// The rows of logits without padding, as log-probabilities.
TaskScores log_softmax(const Matrix& logits, int64_t choices) {
  TaskScores scores{choices, {}};
  scores.log_probs.reserve(logits.rows * choices);
  for (int64_t v = 0; v < logits.rows; ++v) {
    const float* row = logits.row(v);
    const float most = *std::max_element(row, row + choices);
    double sum = 0;
    for (int64_t c = 0; c < choices; ++c) sum += std::exp(row[c] - most);
    const float off = most + static_cast<float>(std::log(sum));
    for (int64_t c = 0; c < choices; ++c) scores.log_probs.push_back(row[c] - off);
  }
  return scores;
}

class GoNetwork : public GoScorer {
 public:
  GoNetwork(const GoOptions& options, const GoTensors& tensors, int threads);
  const GoOptions& options() const override { return options_; }
  GoScores scores(const GoGraph& graph, const GoState& state) override;

 private:
  Matrix embed(const GoGraph& graph, const GoState& state) const;
  TaskScores judge(const Head& head, const Matrix& z, const GoGraph& graph, const GoState& state) const;

  GoOptions options_;
  int threads_;
  Table opcodes_;
  dense::Linear numbers_, state_numbers_, memory_;
  std::vector<GoSage> sage_;
  std::vector<GoAttended> trunk_;
  std::vector<Head> heads_;  // [tasks]
  std::optional<DeviceScores> devices_;
};

GoNetwork::GoNetwork(const GoOptions& options, const GoTensors& tensors, int threads)
    : options_(options), threads_(threads) {
  const int64_t hidden = options.hidden;
  const std::vector<GoTask> tasks = options.task_list();
  opcodes_ = {tensors.values("opcodes.weight", {features::kOpcodeCount, hidden}), features::kOpcodeCount};
  numbers_ = tensors.linear("numbers", kGoNodeNumbers, hidden);
  std::vector<float> stay(tasks.size());
  if (options.refinement) {
    state_numbers_ = tensors.linear("state_numbers", kGoStateNumbers, hidden);
    memory_ = tensors.linear("memory", hidden, hidden);
    stay = tensors.values("stay", {static_cast<int64_t>(tasks.size())});
  }
  for (int64_t l = 0; l < options.sage_layers; ++l) sage_.emplace_back(tensors, "sage" + std::to_string(l), hidden);
  for (int64_t l = 0; l < options.attention_layers; ++l)
    trunk_.emplace_back(tensors, "trunk" + std::to_string(l), options);
  for (size_t i = 0; i < tasks.size(); ++i) {
    const std::string name = options::go_task_name(tasks[i]);
    const int64_t actions = options.actions(tasks[i]);
    Head head{tasks[i], {}, {}, tensors.linear(name + "_output", hidden, actions), stay[i]};
    if (options.refinement) head.decided = {tensors.values(name + "_decided.weight", {actions, hidden}), actions};
    for (int64_t l = 0; l < options.task_layers; ++l)
      head.layers.emplace_back(tensors, name + std::to_string(l), options);
    heads_.push_back(std::move(head));
    if (tasks[i] == GoTask::Placement && options.device_scores && options.refinement)
      devices_ = {tensors.linear("device_query", hidden, kDeviceWidth),
                  tensors.linear("device_key", kGoDeviceNumbers, kDeviceWidth),
                  tensors.linear("device_plain", kGoDeviceNumbers, 1)};
  }
}

Matrix GoNetwork::embed(const GoGraph& graph, const GoState& state) const {
  Matrix x = dense::linear(numbers_, dense::matrix_of(graph.numbers, graph.nodes, kGoNodeNumbers), threads_);
  opcodes_.add(graph.opcodes, x);
  if (options_.refinement) {
    dense::add_linear(state_numbers_, dense::matrix_of(state.numbers, graph.nodes, kGoStateNumbers), threads_, x);
    for (const Head& head : heads_) head.decided.add(state.actions[static_cast<int>(head.task)], x);
    if (!state.embedding.empty())
      dense::add_linear(memory_, dense::matrix_of(state.embedding, graph.nodes, options_.hidden), threads_, x);
  }
  for (float& value : x.values) value = std::max(value, 0.0f);
  for (const GoSage& layer : sage_) x = layer.forward(x, graph, threads_);
  return x;
}

TaskScores GoNetwork::judge(const Head& head, const Matrix& z, const GoGraph& graph, const GoState& state) const {
  Matrix y = dense::linear(head.output, z, threads_);
  const bool placement = head.task == GoTask::Placement;
  const int64_t choices = placement ? graph.devices : head.output.outputs;
  if (placement && devices_) devices_->add(z, graph, state, threads_, y);
  if (options_.refinement) {
    // The log odds of staying are `stay`, however many other actions there are.
    const float stay = head.stay + std::log(static_cast<float>(std::max<int64_t>(choices - 1, 1)));
    const std::vector<int32_t>& before = state.actions[static_cast<int>(head.task)];
    for (int64_t v = 0; v < y.rows; ++v) y.row(v)[before[v]] += stay;
  }
  return log_softmax(y, choices);
}

GoScores GoNetwork::scores(const GoGraph& graph, const GoState& state) {
  require_devices(options_, graph);
  Matrix x = embed(graph, state);
  const std::vector<float> pooled = dense::mean_of_rows(x);
  for (const GoAttended& layer : trunk_) x = layer.forward(std::move(x), pooled, threads_);
  GoScores scores;
  Matrix before;
  for (const Head& head : heads_) {
    Matrix z = x;
    if (options_.task_residual && before.rows > 0) dense::add(before, z);
    for (const GoAttended& layer : head.layers) z = layer.forward(std::move(z), pooled, threads_);
    scores.tasks[static_cast<int>(head.task)] = judge(head, z, graph, state);
    before = std::move(z);
  }
  scores.embedding = dense::values_of(x);
  return scores;
}

}  // namespace

std::unique_ptr<GoScorer> make_go_network(const GoPolicyFile& file, int threads) {
  return std::make_unique<GoNetwork>(file.options, GoTensors(file.weights), threads);
}

}  // namespace hone::go
