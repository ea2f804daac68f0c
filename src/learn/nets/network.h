// Common to all networks: the interface, feed-forward layers, and dropout with explicit randomness.
#pragma once

#include <torch/nn.h>

#include <memory>
#include <string>

#include "base/rng.h"
#include "learn/nets/batch.h"
#include "options/model_options.h"

namespace hone::learn {

inline constexpr int64_t kOpcodes = 256;  // opcodes are bytes

// Randomness of one training step; without a seed (evaluation) nothing is dropped.
class Noise {
 public:
  Noise() = default;
  explicit Noise(uint64_t seed) : keys_(seed), on_(true) {}
  torch::Tensor dropout(const torch::Tensor& x, double probability);
  torch::Tensor relu_dropout(const torch::Tensor& x, double probability);

 private:
  Rng keys_{0};  // every call draws a key
  bool on_ = false;
};

// Predicts one number per option of a batch: a score, lower = faster, or a standardised log run time. Networks are
// independent of training.
struct Network : torch::nn::Module {
  virtual torch::Tensor forward(const GraphBatch& batch, Noise& noise) = 0;  // -> [options]
};

// Weights are initialised from the seed. Throws Error for invalid options.
std::shared_ptr<Network> make_network(const options::ModelOptions& options, const options::FeatureWidths& widths,
                                      uint64_t seed);

// Node embeddings to node embeddings along edges.
struct GnnLayer : torch::nn::Module {
  // [rows, hidden] -> [rows, hidden], dropout included
  virtual torch::Tensor forward(const torch::Tensor& x, const GraphBatch& batch, const Rows& rows, Noise& noise) = 0;
};
std::shared_ptr<GnnLayer> make_sage_layer(const options::ModelOptions& options);
std::shared_ptr<GnnLayer> make_gat_layer(const options::ModelOptions& options);
std::shared_ptr<GnnLayer> make_gin_layer(const options::ModelOptions& options);

// Node embeddings to kernel embeddings.
struct ReductionLayer : torch::nn::Module {
  virtual torch::Tensor forward(const torch::Tensor& x, const Rows& rows) = 0;  // [rows, hidden] -> [copies, width()]
  virtual int64_t width() const = 0;
};
std::shared_ptr<ReductionLayer> make_per_node_reduction(const options::ModelOptions& options);  // width 1: log sum exp
std::shared_ptr<ReductionLayer> make_column_wise_reduction(const options::ModelOptions& options);
std::shared_ptr<ReductionLayer> make_lstm_reduction(const options::ModelOptions& options);
std::shared_ptr<ReductionLayer> make_transformer_reduction(const options::ModelOptions& options);

std::shared_ptr<Network> make_grid_network(const options::ModelOptions& options, const options::FeatureWidths& widths);
std::shared_ptr<Network> make_fast_network(const options::ModelOptions& options, const options::FeatureWidths& widths);

// A linear layer; the paper's have no biases (Table 5).
torch::nn::Linear linear(int64_t inputs, int64_t outputs, bool bias = false);

}  // namespace hone::learn
