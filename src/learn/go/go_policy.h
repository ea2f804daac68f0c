// The graph policy of GO (Zhou et al. 2020, "Transferable Graph Optimizers for ML Compilers", arXiv 2010.12438, and the
// authors' rebuttal at NeurIPS): decides for all operations of a graph at once. GraphSAGE with max-pooling, then
// segment-recurrent attention without positional encoding (section 4.2), its inputs modulated by the pooled graph (4.3),
// then a head of attention layers per task. Independent of training.
#pragma once

#include <torch/nn.h>

#include <memory>
#include <string>
#include <vector>

#include "go/go_file.h"
#include "go/go_scores.h"
#include "learn/go/go_pool.h"
#include "options/go_options.h"

namespace hone::learn {

using go::GoActions;
using go::GoGraph;
using go::GoOrigin;
using go::GoState;

// One iteration of GraphSAGE (Hamilton et al. 2017, equation 3 and algorithm 1) with separate weights for each layer,
// and for producers and users:
//   h_N(v) = max over u in N(v) of relu(W h_u + b),   h_v <- norm(h_v + relu(f(concat(h_v, h_producers, h_users))))
struct GoSageLayer : torch::nn::Module {
  explicit GoSageLayer(int64_t hidden);
  torch::Tensor forward(const torch::Tensor& x, const GoGraph& graph);  // [nodes, hidden] -> the same
  int64_t hidden;
  torch::nn::Linear pool, combine;
  torch::nn::LayerNorm norm;
};

// Attention over segments of nodes with the recurrence of Transformer-XL (Dai et al. 2019, section 3.2): the nodes of a
// segment attend to their own and to the previous segment, whose state passes no gradient. No positions: within a segment
// the order of nodes does not matter. Memory and time grow linearly with the nodes.
struct GoAttention : torch::nn::Module {
  GoAttention(const options::GoOptions& options);
  torch::Tensor forward(const torch::Tensor& x);  // [nodes, hidden] -> the same, x added
 private:
  torch::Tensor attend(const torch::Tensor& queries, const torch::Tensor& own, const torch::Tensor& memory);
  int64_t heads_, hidden_, segment_;
  bool recurrence_;
  torch::nn::Linear query_, key_value_, attended_, wide_, narrow_;
  torch::nn::LayerNorm norm1_, norm2_;
};

// x^(l+1) = a^(l)(m(h_G) * x^(l)): a GoAttention whose input is scaled by 2 sigmoid(W h_G + b), column by column, where h_G
// is the mean of the graph network's output. W and b are initialised to 0: no scaling.
struct GoLayer : torch::nn::Module {
  explicit GoLayer(const options::GoOptions& options);
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& pooled);  // [nodes, hidden], [1, hidden]
  bool modulation;
  torch::nn::Linear modulate{nullptr};
  std::shared_ptr<GoAttention> attention;
};

// A graph and a state as tensors.
struct GoInputs {
  int64_t devices = 0;
  torch::Tensor opcodes, numbers;                        // [nodes], int64; [nodes, kGoNodeNumbers]
  std::array<torch::Tensor, options::kGoTasks> actions;  // [nodes], int64
  torch::Tensor state_numbers, device_numbers;           // [nodes, kGoStateNumbers], [nodes, devices, kGoDeviceNumbers]
  torch::Tensor embedding;                               // [nodes, hidden], or undefined
};

struct GoOutput {
  std::array<torch::Tensor, options::kGoTasks> log_probs;  // [nodes, actions]; undefined for tasks not decided
  torch::Tensor embedding;                                 // [nodes, hidden]: the state of the next step
};

struct GoPolicy : torch::nn::Module {
  GoPolicy(const options::GoOptions& options, uint64_t seed);
  // Throws Error when the topology has more devices than the policy supports.
  GoOutput forward(const GoGraph& graph, const GoState& state);
  const options::GoOptions options;

 private:
  torch::Tensor embed(const GoGraph& graph, const GoInputs& inputs);
  torch::Tensor logits(size_t task_index, const torch::Tensor& z, const GoInputs& inputs);
  std::vector<options::GoTask> tasks_;
  torch::nn::Embedding opcodes_{nullptr};
  torch::nn::Linear numbers_{nullptr}, state_numbers_{nullptr}, memory_{nullptr};
  std::vector<torch::nn::Embedding> decided_;  // [tasks]
  std::vector<std::shared_ptr<GoSageLayer>> sage_;
  std::vector<std::shared_ptr<GoLayer>> trunk_;
  std::vector<std::vector<std::shared_ptr<GoLayer>>> heads_;  // [tasks][task_layers]
  std::vector<torch::nn::Linear> outputs_;                    // [tasks]
  torch::nn::Linear device_query_{nullptr}, device_key_{nullptr}, device_plain_{nullptr};
  torch::Tensor stay_;  // [tasks]
};

go::GoScores scores_of(const GoOutput& output);

// A policy as evaluations read it; it must outlive this. No gradients.
class TorchScorer : public go::GoScorer {
 public:
  explicit TorchScorer(GoPolicy& policy) : policy_(policy) {}
  const options::GoOptions& options() const override { return policy_.options; }
  go::GoScores scores(const GoGraph& graph, const GoState& state) override;

 private:
  GoPolicy& policy_;
};

void save_go_policy(const std::string& path, const GoPolicy& policy, const GoOrigin& origin);  // throws RunError
std::shared_ptr<GoPolicy> policy_from(const go::GoPolicyFile& file);  // throws Error for weights that do not fit
// Throws Error (where = path). `origin` may be null.
std::shared_ptr<GoPolicy> load_go_policy(const std::string& path, GoOrigin* origin = nullptr);

}  // namespace hone::learn
