// Weights files: a network and the metadata needed to use it, as safetensors.
#pragma once

#include <memory>
#include <string>

#include "cost/feature_scale.h"
#include "cost/learned_model.h"
#include "learn/nets/network.h"
#include "options/safetensors.h"

namespace hone::learn {

struct Trained {
  options::ModelOptions options;
  cost::FeatureScale scale;
  std::string task;  // "tile" or "fusion"
  std::string loss;  // as TrainOptions::loss
  // Networks trained on log run times predict (log ns - mean) / deviation.
  double log_mean = 0, log_deviation = 1;
  std::string command;  // the training command
  uint64_t seed = 0;
  std::shared_ptr<Network> network;
};

// Throws RunError (where = path).
void save_weights(const std::string& path, const Trained& trained);
// Throws Error (where = path) for damaged files, another feature version, unknown models, and weights that do not fit them.
Trained load_weights(const std::string& path);

// The network's parameters by name.
void put_parameters(const torch::nn::Module& module, const std::string& prefix, options::TensorFile& file);
// Throws Error when one is missing, or has another shape or type.
void take_parameters(const options::TensorFile& file, const std::string& prefix, torch::nn::Module& module);
options::StoredTensor to_stored(const torch::Tensor& tensor);                                         // F32, F64 or I64
void copy_stored(const options::StoredTensor& stored, const std::string& name, torch::Tensor& into);  // throws Error

// Predictions for one kernel's options, in batches of limited size: scores, or ns if trained on run times.
std::vector<double> predict_options(Trained& trained, const KernelView& kernel);

std::unique_ptr<cost::LearnedModel> open_learned_model(const std::string& weights_path);

}  // namespace hone::learn
