#include "cost/kernel_network.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace hone::cost {
namespace {

constexpr int64_t kRows = 128;  // at once: what lies between two layers stays in the cache
constexpr int64_t kMostOutputs = 4096;

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

Tensor tensor(const options::TensorFile& file, const std::string& name) {
  const auto found = file.tensors.find("network." + name);
  if (found == file.tensors.end() || found->second.dtype != "F32") throw Error("no network: " + name);
  Tensor t{found->second.shape, std::vector<float>(found->second.bytes.size() / sizeof(float))};
  std::memcpy(t.values.data(), found->second.bytes.data(), t.values.size() * sizeof(float));
  if (!std::ranges::all_of(t.values, [](float v) { return std::isfinite(v); }))
    throw Error("a network with numbers that are not finite: " + name);
  return t;
}

std::vector<float> vector_of(const options::TensorFile& file, const std::string& name, int64_t size) {
  Tensor t = tensor(file, name);
  if (t.shape != std::vector{size}) throw Error("a network's tensors do not fit together: " + name);
  return std::move(t.values);
}

dense::Linear linear_of(const options::TensorFile& file, const std::string& name, int64_t inputs) {
  const Tensor weight = tensor(file, name + ".weight");
  if (weight.shape.size() != 2 || weight.shape[1] != inputs || weight.shape[0] < 1 || weight.shape[0] > kMostOutputs)
    throw Error("a network's tensors do not fit together: " + name);
  return {weight.values, vector_of(file, name + ".bias", weight.shape[0]), weight.shape[0], inputs};
}

}  // namespace

std::optional<KernelNetwork> KernelNetwork::in(const options::TensorFile& file, size_t features) {
  if (!file.tensors.contains("network.0.weight")) return std::nullopt;
  KernelNetwork network;
  auto inputs = static_cast<int64_t>(features);
  network.mean_ = vector_of(file, "mean", inputs);
  network.least_ = vector_of(file, "least", inputs);
  network.most_ = vector_of(file, "most", inputs);
  for (int64_t c = 0; c < inputs; ++c)
    if (network.least_[c] > network.most_[c]) throw Error("a network whose inputs have no range");
  for (const float deviation : vector_of(file, "deviation", inputs)) {
    if (!(deviation > 0)) throw Error("a network with a deviation that is not positive");
    network.factor_.push_back(1 / deviation);
  }
  for (int i = 0;; ++i) {
    const std::string name = std::to_string(i);
    Layer layer{linear_of(file, name, inputs), {}};
    inputs = layer.linear.outputs;
    const bool last = !file.tensors.contains("network." + std::to_string(i + 1) + ".weight");
    if (!last)
      layer.norm = {vector_of(file, name + ".norm.weight", inputs), vector_of(file, name + ".norm.bias", inputs)};
    network.layers_.push_back(std::move(layer));
    if (last) break;
  }
  if (inputs != 1) throw Error("a network with more than one output");
  return network;
}

std::vector<double> KernelNetwork::predict_rows(std::span<const float> rows) const {
  const auto width = static_cast<int64_t>(mean_.size()), count = static_cast<int64_t>(rows.size()) / width;
  std::vector<double> all;
  all.reserve(count);
  for (int64_t first = 0; first < count; first += kRows) {
    dense::Matrix x(std::min(kRows, count - first), width);
    for (int64_t i = 0; i < x.rows; ++i) {
      const float* row = rows.data() + (first + i) * width;
      for (int64_t c = 0; c < width; ++c)
        x.row(i)[c] = (std::clamp(row[c], least_[c], most_[c]) - mean_[c]) * factor_[c];
    }
    for (const Layer& layer : layers_) {
      x = dense::linear(layer.linear, x, /*threads=*/1);
      if (layer.norm.weight.empty()) break;
      x = dense::layer_norm(layer.norm, x, /*threads=*/1);
      dense::relu(x);
    }
    for (int64_t i = 0; i < x.rows; ++i) all.push_back(x.row(i)[0]);
  }
  return all;
}

}  // namespace hone::cost
