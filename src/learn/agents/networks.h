// Networks on observations: normalisation, the multilayer perceptron and the graph encoder.
#pragma once

#include <torch/nn.h>

#include <memory>
#include <span>
#include <vector>

#include "learn/nets/batch.h"
#include "learn/nets/network.h"
#include "options/agent_options.h"
#include "options/safetensors.h"
#include "passorder/environment.h"

namespace hone::learn {

// Unscaled observations, one row each.
struct ObservationBatch {
  torch::Tensor values;                                                    // [rows, observation_width]
  torch::Tensor costs;                                                     // [rows, cost_width]
  std::vector<std::shared_ptr<const passorder::GraphObservation>> graphs;  // [rows], or empty
  int64_t rows() const { return values.size(0); }
  ObservationBatch select(const torch::Tensor& index) const;  // rows in the order of `index` (int64)
};
// Throws InternalError for observations that do not fit the spec.
ObservationBatch stack(std::span<const passorder::Observation> observations, const passorder::EnvironmentSpec& spec);

// sign(x) log(1 + |x|), then mean 0 and deviation 1 by the statistics so far (Chan et al. 1979), clipped to [-10, 10].
// The deviation counts as at least 0.1, so that a nearly constant column is not amplified. Without `on` values are
// unchanged.
struct Normalizer : torch::nn::Module {
  Normalizer(int64_t width, bool on);
  void update(const torch::Tensor& rows);               // [n, width]
  torch::Tensor forward(const torch::Tensor& x) const;  // [n, width] -> [n, width]
  bool on;
  torch::Tensor count, mean, square;  // [1], [width], [width]: sum of squared distances from the mean; float64
};

// Scaled observations. Equal graphs, recognised by their address, are in the batch once.
struct Inputs {
  torch::Tensor values, costs;         // [rows, ...]
  std::shared_ptr<GraphBatch> graphs;  // of distinct graphs; null without
  torch::Tensor sizes;                 // [graphs, 1], log of the number of nodes
  torch::Tensor graph_of_row;          // [rows], int64
};

// The statistics all networks of an agent share.
struct InputScale : torch::nn::Module {
  InputScale(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec);
  Inputs forward(const ObservationBatch& batch) const;
  void update(const ObservationBatch& batch);
  bool graphs;
  int64_t neighbour_cap;
  options::FeatureWidths widths;
  std::shared_ptr<Normalizer> values, costs, nodes;
};

// Maps each scaled observation to `outputs` numbers. Hidden layers are initialised orthogonally with gain sqrt 2
// and the last one with `gain`; biases are 0.
struct ObservationNetwork : torch::nn::Module {
  ObservationNetwork(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec, int64_t outputs,
                     bool sees_costs, double gain);
  torch::Tensor forward(const Inputs& inputs);  // -> [rows, outputs]

 private:
  torch::Tensor encode(const Inputs& inputs);  // -> [graphs, 2 * gnn_hidden + 1]
  bool relu_, sees_values_, sees_costs_, sees_graph_;
  torch::nn::Embedding opcodes_{nullptr};
  torch::nn::Linear opcode_input_{nullptr}, node_input_{nullptr};
  std::vector<std::shared_ptr<GnnLayer>> gnn_;
  std::vector<torch::nn::Linear> layers_;
};

// Policy and value function with separate weights.
struct ActorCritic : torch::nn::Module {
  ActorCritic(const options::AgentOptions& options,
              const passorder::EnvironmentSpec& spec);    // weights from options.seed
  torch::Tensor log_probabilities(const Inputs& inputs);  // -> [rows, actions]
  torch::Tensor value(const Inputs& inputs);              // -> [rows]
  std::shared_ptr<InputScale> scale;
  std::shared_ptr<ObservationNetwork> policy, critic;
};

// Parameters and statistics by name; take_module throws Error when one is missing or has another shape.
void put_module(const torch::nn::Module& module, const std::string& prefix, options::TensorFile& file);
void take_module(const options::TensorFile& file, const std::string& prefix, torch::nn::Module& module);

}  // namespace hone::learn
