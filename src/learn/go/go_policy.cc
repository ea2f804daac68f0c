#include "learn/go/go_policy.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "features/opcodes.h"
#include "learn/nets/trained.h"

namespace hone::learn {

namespace {

constexpr int64_t kSegmentsAtOnce = 32;  // segments whose attention scores are in memory together
constexpr int64_t kDeviceWidth = 16;     // of the dot products between operations and devices
constexpr double kHeadScale = 0.05;      // of the last layers' initial weights: nearly equal probabilities at first

torch::nn::Linear biased(int64_t inputs, int64_t outputs) { return torch::nn::Linear(inputs, outputs); }

torch::nn::LayerNorm layer_norm(int64_t width) { return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})); }

torch::Tensor rows_of(const std::vector<float>& values, std::vector<int64_t> shape) {
  return torch::from_blob(const_cast<float*>(values.data()), shape).clone();  // not written to
}

GoInputs inputs_of(const GoGraph& graph, const GoState& state, int64_t hidden) {
  GoInputs inputs;
  inputs.devices = graph.devices;
  inputs.opcodes = torch::tensor(graph.opcodes);
  inputs.numbers = rows_of(graph.numbers, {graph.nodes, go::kGoNodeNumbers});
  for (int task = 0; task < options::kGoTasks; ++task)
    inputs.actions[task] = torch::tensor(state.actions[task], torch::kInt).to(torch::kLong);
  if (!state.numbers.empty()) inputs.state_numbers = rows_of(state.numbers, {graph.nodes, go::kGoStateNumbers});
  if (!state.device_numbers.empty())
    inputs.device_numbers = rows_of(state.device_numbers, {graph.nodes, graph.devices, go::kGoDeviceNumbers});
  if (!state.embedding.empty()) inputs.embedding = rows_of(state.embedding, {graph.nodes, hidden});
  return inputs;
}

std::vector<float> floats(const torch::Tensor& x) {
  const torch::Tensor plain = x.contiguous();
  return {plain.data_ptr<float>(), plain.data_ptr<float>() + plain.numel()};
}

void shrink(torch::nn::Linear& layer, double scale) {
  const torch::NoGradGuard no_gradient;
  layer->weight.mul_(scale);
  layer->bias.zero_();
}

}  // namespace

GoSageLayer::GoSageLayer(int64_t hidden)
    : hidden(hidden),
      pool(register_module("pool", biased(hidden, 2 * hidden))),
      combine(register_module("combine", biased(3 * hidden, hidden))),
      norm(register_module("norm", layer_norm(hidden))) {}

torch::Tensor GoSageLayer::forward(const torch::Tensor& x, const GoGraph& graph) {
  const torch::Tensor z = torch::relu(pool(x));  // [nodes, 2 * hidden]
  const torch::Tensor before = max_of_neighbours(z.narrow(1, 0, hidden), graph.producers),
                      after = max_of_neighbours(z.narrow(1, hidden, hidden), graph.users);
  return norm(x + torch::relu(combine(torch::cat({x, before, after}, 1))));
}

GoAttention::GoAttention(const options::GoOptions& options)
    : heads_(options.heads),
      hidden_(options.hidden),
      segment_(options.segment),
      recurrence_(options.recurrence),
      query_(register_module("query", biased(hidden_, hidden_))),
      key_value_(register_module("key_value", biased(hidden_, 2 * hidden_))),
      attended_(register_module("attended", biased(hidden_, hidden_))),
      wide_(register_module("wide", biased(hidden_, 2 * hidden_))),
      narrow_(register_module("narrow", biased(2 * hidden_, hidden_))),
      norm1_(register_module("norm1", layer_norm(hidden_))),
      norm2_(register_module("norm2", layer_norm(hidden_))) {}

// [segments, length, hidden], [segments, length, 2 * hidden], undefined or [segments, memory, 2 * hidden] -> [segments,
// length, hidden]
torch::Tensor GoAttention::attend(const torch::Tensor& queries, const torch::Tensor& own, const torch::Tensor& memory) {
  const torch::Tensor seen = memory.defined() ? torch::cat({memory, own}, 1) : own;
  const auto split = [&](const torch::Tensor& x) {  // [segments, heads, length, hidden / heads]
    return x.view({x.size(0), x.size(1), heads_, hidden_ / heads_}).transpose(1, 2);
  };
  const torch::Tensor keys = seen.narrow(2, 0, hidden_).contiguous(),
                      values = seen.narrow(2, hidden_, hidden_).contiguous();
  return at::scaled_dot_product_attention(split(queries), split(keys), split(values))
      .transpose(1, 2)
      .reshape({queries.size(0), queries.size(1), hidden_});
}

torch::Tensor GoAttention::forward(const torch::Tensor& x) {
  const int64_t nodes = x.size(0), full = nodes / segment_, rest = nodes % segment_;
  const torch::Tensor normed = norm1_(x), q = query_(normed), kv = key_value_(normed);
  // Gradients reach the weights of keys and values through the memory, but not the memory's state.
  const torch::Tensor memory = !recurrence_                    ? torch::Tensor()
                               : torch::GradMode::is_enabled() ? key_value_(normed.detach())
                                                               : kv;
  const auto rows = [&](const torch::Tensor& y, int64_t first, int64_t segments, int64_t length) {
    return y.narrow(0, first, segments * length).view({segments, length, y.size(1)});
  };
  std::vector<torch::Tensor> parts;
  const auto add = [&](int64_t first, int64_t segments, int64_t length) {
    const torch::Tensor seen =
        recurrence_ && first > 0 ? rows(memory, first - segment_, segments, segment_) : torch::Tensor();
    parts.push_back(
        attend(rows(q, first, segments, length), rows(kv, first, segments, length), seen).view({-1, hidden_}));
  };
  if (full > 0) add(0, 1, segment_);
  for (int64_t s = 1; s < full; s += kSegmentsAtOnce) add(s * segment_, std::min(kSegmentsAtOnce, full - s), segment_);
  if (rest > 0) add(full * segment_, 1, rest);
  const torch::Tensor y = x + attended_(torch::cat(parts));  // [nodes, hidden]
  return y + narrow_(torch::relu(wide_(norm2_(y))));
}

GoLayer::GoLayer(const options::GoOptions& options)
    : modulation(options.modulation), attention(register_module("attention", std::make_shared<GoAttention>(options))) {
  if (!modulation) return;
  modulate = register_module("modulate", biased(options.hidden, options.hidden));
  shrink(modulate, 0);
}

torch::Tensor GoLayer::forward(const torch::Tensor& x, const torch::Tensor& pooled) {
  return attention->forward(modulation ? x * (2 * torch::sigmoid(modulate(pooled))) : x);
}

GoPolicy::GoPolicy(const options::GoOptions& options, uint64_t seed) : options(options), tasks_(options.task_list()) {
  options.validate();
  torch::manual_seed(seed);  // libtorch initialises layers from its global generator only
  const int64_t hidden = options.hidden;
  opcodes_ = register_module("opcodes", torch::nn::Embedding(features::kOpcodeCount, hidden));
  numbers_ = register_module("numbers", biased(go::kGoNodeNumbers, hidden));
  if (options.refinement) {
    state_numbers_ = register_module("state_numbers", biased(go::kGoStateNumbers, hidden));
    memory_ = register_module("memory", biased(hidden, hidden));
    shrink(memory_, 0.1);
    stay_ = register_parameter(
        "stay", torch::full({static_cast<int64_t>(tasks_.size())}, std::log(options.stay / (1 - options.stay))));
  }
  for (int64_t l = 0; l < options.sage_layers; ++l)
    sage_.push_back(register_module("sage" + std::to_string(l), std::make_shared<GoSageLayer>(hidden)));
  for (int64_t l = 0; l < options.attention_layers; ++l)
    trunk_.push_back(register_module("trunk" + std::to_string(l), std::make_shared<GoLayer>(options)));
  for (const options::GoTask task : tasks_) {
    const std::string name = options::go_task_name(task);
    if (options.refinement)
      decided_.push_back(register_module(name + "_decided", torch::nn::Embedding(options.actions(task), hidden)));
    std::vector<std::shared_ptr<GoLayer>> layers;
    for (int64_t l = 0; l < options.task_layers; ++l)
      layers.push_back(register_module(name + std::to_string(l), std::make_shared<GoLayer>(options)));
    heads_.push_back(std::move(layers));
    outputs_.push_back(register_module(name + "_output", biased(hidden, options.actions(task))));
    shrink(outputs_.back(), kHeadScale);
    if (task != options::GoTask::Placement || !options.device_scores || !options.refinement) continue;
    device_query_ = register_module("device_query", biased(hidden, kDeviceWidth));
    device_key_ = register_module("device_key", biased(go::kGoDeviceNumbers, kDeviceWidth));
    device_plain_ = register_module("device_plain", biased(go::kGoDeviceNumbers, 1));
    shrink(device_query_, kHeadScale);
    shrink(device_plain_, 0);
  }
}

torch::Tensor GoPolicy::embed(const GoGraph& graph, const GoInputs& inputs) {
  torch::Tensor x = numbers_(inputs.numbers) + opcodes_(inputs.opcodes);  // [nodes, hidden]
  if (options.refinement) {
    x = x + state_numbers_(inputs.state_numbers);
    for (size_t i = 0; i < tasks_.size(); ++i) x = x + decided_[i](inputs.actions[static_cast<int>(tasks_[i])]);
    if (inputs.embedding.defined()) x = x + memory_(inputs.embedding);
  }
  x = torch::relu(x);
  for (const auto& layer : sage_) x = layer->forward(x, graph);
  return x;
}

torch::Tensor GoPolicy::logits(size_t task_index, const torch::Tensor& z, const GoInputs& inputs) {
  const options::GoTask task = tasks_[task_index];
  torch::Tensor y = outputs_[task_index](z);  // [nodes, actions]
  if (task == options::GoTask::Placement) {
    y = y.narrow(1, 0, inputs.devices);
    if (device_query_) {
      const torch::Tensor keys = device_key_(inputs.device_numbers);  // [nodes, devices, w]
      y = y + torch::bmm(keys, device_query_(z).unsqueeze(2)).squeeze(2) +
          device_plain_(inputs.device_numbers).squeeze(2);
    }
  }
  if (!options.refinement) return y;
  const torch::Tensor before = inputs.actions[static_cast<int>(task)].unsqueeze(1);  // [nodes, 1]
  // The log odds of staying are `stay`, however many other actions there are.
  const torch::Tensor stay = stay_[static_cast<int64_t>(task_index)] + std::log(std::max<double>(y.size(1) - 1, 1));
  return y + torch::zeros_like(y).scatter_(1, before, 1.0) * stay;
}

GoOutput GoPolicy::forward(const GoGraph& graph, const GoState& state) {
  go::require_devices(options, graph);
  const GoInputs inputs = inputs_of(graph, state, options.hidden);
  torch::Tensor x = embed(graph, inputs);
  const torch::Tensor pooled = x.mean(0, true);  // [1, hidden]
  for (const auto& layer : trunk_) x = layer->forward(x, pooled);
  GoOutput output;
  output.embedding = x;
  torch::Tensor before;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    torch::Tensor z = options.task_residual && before.defined() ? x + before : x;
    for (const auto& layer : heads_[i]) z = layer->forward(z, pooled);
    output.log_probs[static_cast<int>(tasks_[i])] = torch::log_softmax(logits(i, z, inputs), 1);
    before = z;
  }
  return output;
}

go::GoScores scores_of(const GoOutput& output) {
  go::GoScores scores;
  for (int task = 0; task < options::kGoTasks; ++task)
    if (const torch::Tensor& logs = output.log_probs[task]; logs.defined())
      scores.tasks[task] = {logs.size(1), floats(logs)};
  scores.embedding = floats(output.embedding);
  return scores;
}

go::GoScores TorchScorer::scores(const GoGraph& graph, const GoState& state) {
  const torch::NoGradGuard no_gradient;
  return scores_of(policy_.forward(graph, state));
}

void save_go_policy(const std::string& path, const GoPolicy& policy, const GoOrigin& origin) {
  go::GoPolicyFile file{policy.options, origin, {}};
  put_parameters(policy, "", file.weights);
  go::write_go_policy(path, std::move(file));
}

std::shared_ptr<GoPolicy> policy_from(const go::GoPolicyFile& file) {
  auto policy = std::make_shared<GoPolicy>(file.options, 0);
  take_parameters(file.weights, "", *policy);
  policy->eval();
  return policy;
}

std::shared_ptr<GoPolicy> load_go_policy(const std::string& path, GoOrigin* origin) {
  const go::GoPolicyFile file = go::read_go_policy(path);
  if (origin) *origin = file.origin;
  try {
    return policy_from(file);
  } catch (const Error& e) {
    throw Error(e.what(), path, e.hint());
  }
}

}  // namespace hone::learn
