#include "learn/agents/networks.h"

#include <unordered_map>

#include "base/error.h"
#include "learn/nets/segment.h"
#include "learn/nets/trained.h"
#include "learn/train/sampler.h"

namespace hone::learn {

namespace {

constexpr double kCut = 10, kLeastVariance = 0.01;

torch::Tensor symmetric_log(const torch::Tensor& x) { return torch::sign(x) * torch::log1p(torch::abs(x)); }

torch::Tensor tensor_of(std::span<const passorder::Observation> observations,
                        std::vector<float> passorder::Observation::* part, int64_t width) {
  torch::Tensor rows = torch::empty({static_cast<int64_t>(observations.size()), width});
  float* to = rows.data_ptr<float>();
  for (const passorder::Observation& observation : observations) {
    const std::vector<float>& from = observation.*part;
    if (static_cast<int64_t>(from.size()) != width) throw InternalError("an observation has the wrong width");
    to = std::copy(from.begin(), from.end(), to);
  }
  return rows;
}

torch::nn::Linear orthogonal_linear(int64_t inputs, int64_t outputs, double gain) {
  torch::nn::Linear layer(inputs, outputs);
  torch::nn::init::orthogonal_(layer->weight, gain);
  torch::nn::init::zeros_(layer->bias);
  return layer;
}

KernelView view_of(const passorder::GraphObservation& graph) {
  KernelView view;
  view.fingerprint = "of an observation";
  view.opcodes = graph.opcodes;
  view.node_features = graph.node_features;
  view.edge_from = graph.edge_from;
  view.edge_to = graph.edge_to;
  return view;
}

}  // namespace

ObservationBatch ObservationBatch::select(const torch::Tensor& index) const {
  ObservationBatch chosen{values.index_select(0, index), costs.index_select(0, index), {}};
  if (graphs.empty()) return chosen;
  const torch::Tensor plain = index.contiguous();
  for (int64_t i = 0; i < plain.numel(); ++i) chosen.graphs.push_back(graphs[plain.data_ptr<int64_t>()[i]]);
  return chosen;
}

ObservationBatch stack(std::span<const passorder::Observation> observations, const passorder::EnvironmentSpec& spec) {
  ObservationBatch batch{tensor_of(observations, &passorder::Observation::values, spec.observation_width),
                         tensor_of(observations, &passorder::Observation::costs, spec.cost_width),
                         {}};
  if (spec.node_width == 0) return batch;
  for (const passorder::Observation& observation : observations) {
    if (!observation.graph) throw InternalError("an observation has no graph");
    batch.graphs.push_back(observation.graph);
  }
  return batch;
}

Normalizer::Normalizer(int64_t width, bool on)
    : on(on),
      count(register_buffer("count", torch::zeros({1}, torch::kDouble))),
      mean(register_buffer("mean", torch::zeros({width}, torch::kDouble))),
      square(register_buffer("square", torch::zeros({width}, torch::kDouble))) {}

void Normalizer::update(const torch::Tensor& rows) {
  if (!on || rows.numel() == 0) return;
  const torch::NoGradGuard no_gradient;
  const torch::Tensor x = symmetric_log(rows.to(torch::kDouble));  // [n, width]
  const double before = count.item<double>(), more = static_cast<double>(rows.size(0)), all = before + more;
  const torch::Tensor their_mean = x.mean(0), distance = their_mean - mean;
  square += (x - their_mean).square().sum(0) + distance.square() * (before * more / all);
  mean += distance * (more / all);
  count.fill_(all);
}

torch::Tensor Normalizer::forward(const torch::Tensor& x) const {
  if (!on) return x;
  const torch::Tensor y = symmetric_log(x);
  const double n = count.item<double>();
  if (n == 0) return y;
  const torch::Tensor scale = torch::rsqrt(square / n + kLeastVariance).to(torch::kFloat);
  return torch::clamp((y - mean.to(torch::kFloat)) * scale, -kCut, kCut);
}

InputScale::InputScale(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec)
    : graphs(options.policy == "gnn"),
      neighbour_cap(options.neighbour_cap),
      widths{spec.node_width, 0, 0},
      values(register_module("values", std::make_shared<Normalizer>(spec.observation_width, options.normalize))),
      costs(register_module("costs", std::make_shared<Normalizer>(spec.cost_width, options.normalize))),
      nodes(register_module("nodes", std::make_shared<Normalizer>(spec.node_width, options.normalize))) {}

Inputs InputScale::forward(const ObservationBatch& batch) const {
  Inputs inputs{values->forward(batch.values), costs->forward(batch.costs), nullptr, {}, {}};
  if (!graphs) return inputs;
  std::unordered_map<const passorder::GraphObservation*, int64_t> place;
  std::vector<BatchItem> items;
  inputs.graph_of_row = torch::empty({batch.rows()}, torch::kLong);
  for (int64_t row = 0; row < batch.rows(); ++row) {
    const passorder::GraphObservation& graph = *batch.graphs[row];
    const auto [found, fresh] = place.try_emplace(&graph, static_cast<int64_t>(items.size()));
    if (fresh) items.push_back({view_of(graph), {0}});
    inputs.graph_of_row.data_ptr<int64_t>()[row] = found->second;
  }
  inputs.graphs = make_unscaled_batch(items, widths, neighbour_cap);
  inputs.graphs->node_features = nodes->forward(inputs.graphs->node_features);
  inputs.sizes = torch::empty({static_cast<int64_t>(items.size()), 1});
  for (size_t i = 0; i < items.size(); ++i)
    inputs.sizes.data_ptr<float>()[i] = std::log(static_cast<float>(items[i].kernel.nodes()));
  return inputs;
}

void InputScale::update(const ObservationBatch& batch) {
  values->update(batch.values);
  costs->update(batch.costs);
  if (!graphs) return;
  std::unordered_map<const passorder::GraphObservation*, bool> seen;
  for (const auto& graph : batch.graphs) {
    if (!seen.try_emplace(graph.get(), true).second) continue;
    float* data = const_cast<float*>(graph->node_features.data());  // only read
    nodes->update(torch::from_blob(data, {graph->nodes(), widths.node}));
  }
}

ObservationNetwork::ObservationNetwork(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec,
                                       int64_t outputs, bool sees_costs, double gain)
    : relu_(options.activation == "relu"),
      sees_values_(spec.observation_width > 0),
      sees_costs_(sees_costs && spec.cost_width > 0),
      sees_graph_(options.policy == "gnn") {
  int64_t width = (sees_values_ ? spec.observation_width : 0) + (sees_costs_ ? spec.cost_width : 0);
  if (sees_graph_) {
    options::ModelOptions sage;
    sage.hidden = options.gnn_hidden;
    sage.dropout = 0;
    opcodes_ = register_module("opcodes", torch::nn::Embedding(kOpcodes, options.opcode_embedding));
    opcode_input_ = register_module("opcode_input", linear(options.opcode_embedding, options.gnn_hidden));
    node_input_ = register_module("node_input", linear(spec.node_width, options.gnn_hidden, true));
    for (int64_t l = 0; l < options.gnn_layers; ++l)
      gnn_.push_back(register_module("gnn" + std::to_string(l), make_sage_layer(sage)));
    width += 2 * options.gnn_hidden + 1;
  }
  for (size_t l = 0; l <= options.layers.size(); ++l) {
    const bool last = l == options.layers.size();
    const int64_t next = last ? outputs : options.layers[l];
    layers_.push_back(
        register_module("layer" + std::to_string(l), orthogonal_linear(width, next, last ? gain : std::sqrt(2.0))));
    width = next;
  }
}

torch::Tensor ObservationNetwork::encode(const Inputs& inputs) {
  const GraphBatch& graphs = *inputs.graphs;
  const Rows& rows = graphs.per_kernel;
  Noise none;
  const torch::Tensor by_opcode = opcode_input_(opcodes_->weight);  // [opcodes, hidden]
  torch::Tensor x = torch::relu(node_input_(graphs.node_features) + by_opcode.index_select(0, graphs.opcodes));
  for (const auto& layer : gnn_) x = x + layer->forward(x, graphs, rows, none);  // [nodes, hidden]
  // Mean and maximum do not depend on the program's size.
  return torch::cat({mean_and_max_of_nodes(x, rows), inputs.sizes}, 1);
}

torch::Tensor ObservationNetwork::forward(const Inputs& inputs) {
  std::vector<torch::Tensor> parts;
  if (sees_values_) parts.push_back(inputs.values);
  if (sees_costs_) parts.push_back(inputs.costs);
  if (sees_graph_) parts.push_back(encode(inputs).index_select(0, inputs.graph_of_row));
  torch::Tensor x = parts.size() == 1 ? parts.front() : torch::cat(parts, 1);
  for (size_t l = 0; l + 1 < layers_.size(); ++l) {
    x = layers_[l](x);
    x = relu_ ? torch::relu(x) : torch::tanh(x);  // [rows, layers[l]]
  }
  return layers_.back()(x);
}

ActorCritic::ActorCritic(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec) {
  if (options.value_features && spec.cost_width == 0)
    throw Error("the environment has no cost features for the value function", spec.id);
  scale = register_module("scale", std::make_shared<InputScale>(options, spec));
  torch::manual_seed(options.seed);  // libtorch initialises layers from its global generator only
  // Nearly equal probabilities at first, for every observation (Andrychowicz et al. 2021, section 3.2).
  policy = register_module("policy", std::make_shared<ObservationNetwork>(options, spec, spec.actions, false, 0.01));
  critic = register_module("critic", std::make_shared<ObservationNetwork>(options, spec, 1, options.value_features, 1));
}

torch::Tensor ActorCritic::log_probabilities(const Inputs& inputs) {
  return torch::log_softmax(policy->forward(inputs), 1);
}

torch::Tensor ActorCritic::value(const Inputs& inputs) { return critic->forward(inputs).squeeze(1); }

void put_module(const torch::nn::Module& module, const std::string& prefix, options::TensorFile& file) {
  put_parameters(module, prefix, file);
  for (const auto& buffer : module.named_buffers()) file.tensors[prefix + buffer.key()] = to_stored(buffer.value());
}

void take_module(const options::TensorFile& file, const std::string& prefix, torch::nn::Module& module) {
  take_parameters(file, prefix, module);
  for (auto& buffer : module.named_buffers()) {
    const auto found = file.tensors.find(prefix + buffer.key());
    if (found == file.tensors.end()) throw Error("weights do not fit the model: missing " + buffer.key());
    copy_stored(found->second, buffer.key(), buffer.value());
  }
}

}  // namespace hone::learn
