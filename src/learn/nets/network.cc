#include "learn/nets/network.h"

#include "learn/nets/segment.h"

namespace hone::learn {

torch::Tensor Noise::dropout(const torch::Tensor& x, double probability) {
  return on_ && probability > 0 ? drop_values(x, probability, keys_(), false) : x;
}

torch::Tensor Noise::relu_dropout(const torch::Tensor& x, double probability) {
  return on_ && probability > 0 ? drop_values(x, probability, keys_(), true) : torch::relu(x);
}

torch::nn::Linear linear(int64_t inputs, int64_t outputs, bool bias) {
  return torch::nn::Linear(torch::nn::LinearOptions(inputs, outputs).bias(bias));
}

std::shared_ptr<Network> make_network(const options::ModelOptions& options, const options::FeatureWidths& widths,
                                      uint64_t seed) {
  options.validate();
  torch::manual_seed(seed);  // libtorch initialises layers from its global generator only
  return options::find_model(options.name).late_fusion ? make_fast_network(options, widths)
                                                       : make_grid_network(options, widths);
}

}  // namespace hone::learn
