#include "models/network.h"

#include <ATen/CPUGeneratorImpl.h>

namespace hone::models {

Noise::Noise(uint64_t seed) : generator_(at::detail::createCPUGenerator(seed)), on_(true) {}

torch::Tensor Noise::dropout(const torch::Tensor& x, double probability) {
  if (!on_ || probability <= 0) return x;
  const double keep = 1 - probability;
  return x * torch::empty_like(x).bernoulli_(keep, generator_).mul_(1 / keep);
}

torch::nn::Linear linear(int64_t inputs, int64_t outputs, bool bias) {
  return torch::nn::Linear(torch::nn::LinearOptions(inputs, outputs).bias(bias));
}

std::shared_ptr<Network> make_network(const ModelOptions& options, const FeatureWidths& widths, uint64_t seed) {
  options.validate();
  torch::manual_seed(seed);  // libtorch initialises layers from its global generator only
  return find_model(options.name).fast ? make_fast_network(options, widths) : make_grid_network(options, widths);
}

}  // namespace hone::models
