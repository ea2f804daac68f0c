// A model for ranking many options of a kernel: the kernel is embedded once, a small network then scores its options.
#pragma once

#include "learn/nets/network.h"

namespace hone::learn {

struct FastNetwork : Network {
  FastNetwork(const options::ModelOptions& options, const options::FeatureWidths& widths);

  torch::Tensor embed(const GraphBatch& batch, Noise& noise);  // -> [kernels, embedding width]
  // Scores of options against the embedding of their kernel; without `option_kernel` all belong to the one kernel.
  torch::Tensor score_options(const torch::Tensor& embedding,      // [kernels, embedding width]
                              const torch::Tensor& option_kernel,  // [options], int64, or undefined
                              const torch::Tensor& tiles,          // [options, widths.option()], scaled
                              Noise& noise);                       // -> [options]
  torch::Tensor forward(const GraphBatch& batch, Noise& noise) override;

  options::ModelOptions options;
  torch::nn::Embedding embedding;
  torch::nn::Linear opcode_input{nullptr}, node_input{nullptr}, static_input{nullptr};
  std::vector<std::shared_ptr<GnnLayer>> gnn;
  torch::nn::Linear pooled{nullptr}, shift{nullptr}, gate{nullptr}, tile_input{nullptr}, middle{nullptr},
      output{nullptr}, kernel_output{nullptr}, skip{nullptr};
};

}  // namespace hone::learn
