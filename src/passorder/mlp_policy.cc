// The forward pass of a multilayer perceptron on scaled observations, as ObservationNetwork of learn/agents/networks.h.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "options/tensor_values.h"
#include "passorder/learned_policy.h"
#include "passorder/policy_file.h"

namespace hone::passorder {

namespace {

constexpr float kCut = 10;  // these two as in learn/agents/networks.cc
constexpr double kLeastVariance = 0.01;

// Symmetric logarithms brought to mean 0 and deviation 1, and cut.
class Scale {
 public:
  Scale(const options::TensorFile& file, int64_t width, bool on) : on_(on) {
    if (!on) return;
    const double count = options::tensor_values<double>(file, "scale.values.count", "F64", {1})[0];
    const std::vector<double> mean = options::tensor_values<double>(file, "scale.values.mean", "F64", {width});
    const std::vector<double> square = options::tensor_values<double>(file, "scale.values.square", "F64", {width});
    fitted_ = count > 0;
    if (!fitted_) return;
    mean_.assign(mean.begin(), mean.end());
    for (const double sum : square) factor_.push_back(static_cast<float>(1 / std::sqrt(sum / count + kLeastVariance)));
  }

  void apply(std::vector<float>& x) const {
    if (!on_) return;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = std::copysign(std::log1p(std::abs(x[i])), x[i]);
      if (fitted_) x[i] = std::clamp((x[i] - mean_[i]) * factor_[i], -kCut, kCut);
    }
  }

 private:
  bool on_, fitted_ = false;
  std::vector<float> mean_, factor_;
};

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

class MlpPolicy : public LearnedPolicy {
 public:
  MlpPolicy(const options::TensorFile& file, PolicyHeader header)
      : header_(std::move(header)), scale_(file, header_.spec.observation_width, header_.options.normalize) {
    header_.options.validate();
    int64_t width = header_.spec.observation_width;
    if (width < 1 || header_.spec.actions < 1) throw Error("the policy has no observations or no actions");
    for (size_t l = 0; l <= header_.options.layers.size(); ++l) {
      const int64_t next = l < header_.options.layers.size() ? header_.options.layers[l] : header_.spec.actions;
      const std::string name = "policy.layer" + std::to_string(l);
      layers_.push_back({options::tensor_values<float>(file, name + ".weight", "F32", {next, width}),
                         options::tensor_values<float>(file, name + ".bias", "F32", {next})});
      width = next;
    }
  }

  std::string agent() const override { return header_.options.agent; }
  const EnvironmentSpec& spec() const override { return header_.spec; }
  const nlohmann::json& environment() const override { return header_.environment; }

  std::vector<float> scores(std::span<const Observation> observations) override {
    std::vector<float> all;
    for (const Observation& observation : observations) {
      const std::vector<float> row = score(observation.values);
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  }

 private:
  std::vector<float> score(std::vector<float> x) const {
    if (static_cast<int64_t>(x.size()) != header_.spec.observation_width)
      throw InternalError("an observation has the wrong width");
    scale_.apply(x);
    const bool relu = header_.options.activation == "relu";
    for (size_t l = 0; l < layers_.size(); ++l) {
      x = layers_[l].apply(x);
      if (l + 1 == layers_.size()) break;
      for (float& value : x) value = relu ? std::max(value, 0.0f) : std::tanh(value);
    }
    if (header_.options.agent != "dqn") log_softmax(x);
    return x;
  }

  PolicyHeader header_;
  Scale scale_;
  std::vector<Layer> layers_;
};

}  // namespace

std::unique_ptr<LearnedPolicy> open_mlp_policy(const options::TensorFile& file, PolicyHeader header,
                                               const std::string& path) {
  try {
    return std::make_unique<MlpPolicy>(file, std::move(header));
  } catch (const Error& e) {
    throw Error(e.what(), path, e.hint());
  }
}

}  // namespace hone::passorder
