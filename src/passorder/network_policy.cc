// The forward pass of a multilayer perceptron on scaled observations, or on a graph that is encoded first, as ObservationNetwork of
// learn/agents/networks.h.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/error.h"
#include "options/tensor_values.h"
#include "passorder/graph_encoder.h"
#include "passorder/input_scale.h"
#include "passorder/learned_policy.h"
#include "passorder/policy_file.h"

namespace hone::passorder {

namespace {

struct Layer {
  std::vector<float> weights, bias;  // [outputs, inputs], [outputs]

  std::vector<float> apply(const std::vector<float>& x) const {
    std::vector<float> y = bias;
    for (size_t k = 0; k < y.size(); ++k) {
      const float* row = weights.data() + k * x.size();
      for (size_t i = 0; i < x.size(); ++i) y[k] += row[i] * x[i];
    }
    return y;
  }
};

void log_softmax(std::vector<float>& x) {
  const float most = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const float value : x) sum += std::exp(static_cast<double>(value - most));
  for (float& value : x) value -= most + static_cast<float>(std::log(sum));
}

class NetworkPolicy : public LearnedPolicy {
 public:
  NetworkPolicy(const options::TensorFile& file, PolicyHeader header)
      : header_(std::move(header)),
        scale_(file, "scale.values", header_.spec.observation_width, header_.options.normalize) {
    header_.options.validate();
    const EnvironmentSpec& spec = header_.spec;
    int64_t width = spec.observation_width;
    if (header_.options.policy == "gnn") {
      if (spec.node_width < 1) throw Error("the policy reads graphs, but its environment has none");
      encoder_.emplace(file, header_.options, spec.node_width);
      width += encoder_->width();
    }
    if (width < 1 || spec.actions < 1) throw Error("the policy has no observations or no actions");
    for (size_t l = 0; l <= header_.options.layers.size(); ++l) {
      const int64_t next = l < header_.options.layers.size() ? header_.options.layers[l] : spec.actions;
      const std::string name = "policy.layer" + std::to_string(l);
      layers_.push_back({options::tensor_values<float>(file, name + ".weight", "F32", {next, width}),
                         options::tensor_values<float>(file, name + ".bias", "F32", {next})});
      width = next;
    }
  }

  std::string agent() const override { return header_.options.agent; }
  const EnvironmentSpec& spec() const override { return header_.spec; }
  const nlohmann::json& environment() const override { return header_.environment; }
  nlohmann::json order() const override { return header_.order; }

  std::vector<float> scores(std::span<const Observation> observations) override {
    std::vector<float> all;
    std::map<const GraphObservation*, std::vector<float>> encoded;  // equal states share their graph
    for (const Observation& observation : observations) {
      std::vector<float> x = observation.values;
      if (static_cast<int64_t>(x.size()) != header_.spec.observation_width)
        throw InternalError("an observation has the wrong width");
      scale_.apply(x);
      if (encoder_) {
        if (!observation.graph) throw InternalError("an observation has no graph");
        std::vector<float>& graph = encoded[observation.graph.get()];
        if (graph.empty()) graph = encoder_->encode(*observation.graph);
        x.insert(x.end(), graph.begin(), graph.end());
      }
      const std::vector<float> row = score(std::move(x));
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  }

 private:
  std::vector<float> score(std::vector<float> x) const {
    const bool relu = header_.options.activation == "relu";
    for (size_t l = 0; l < layers_.size(); ++l) {
      x = layers_[l].apply(x);
      if (l + 1 == layers_.size()) break;
      for (float& value : x) value = relu ? std::max(value, 0.0f) : std::tanh(value);
    }
    if (header_.options.agent != "dqn" && header_.order.is_null()) log_softmax(x);
    return x;
  }

  PolicyHeader header_;
  InputScale scale_;
  std::optional<GraphEncoder> encoder_;
  std::vector<Layer> layers_;
};

}  // namespace

std::unique_ptr<LearnedPolicy> open_network_policy(const options::TensorFile& file, PolicyHeader header,
                                                   const std::string& path) {
  try {
    return std::make_unique<NetworkPolicy>(file, std::move(header));
  } catch (const Error& e) {
    throw Error(e.what(), path, e.hint());
  }
}

}  // namespace hone::passorder
