#include "cost/kernel_network.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"
#include "tests/cost/tree_file.h"

namespace hone::cost {
namespace {

constexpr int64_t kFeatures = 5;

std::vector<float> drawn(int64_t count, std::mt19937& random, float middle = 0) {
  std::normal_distribution<float> normal(middle, 1);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

options::StoredTensor shaped(std::vector<int64_t> shape, const std::vector<float>& values) {
  options::StoredTensor stored = tensor<float>("F32", values);
  stored.shape = std::move(shape);
  return stored;
}

// Two layers of 20 and 7 and the output.
options::TensorFile network_file() {
  std::mt19937 random(1);
  options::TensorFile file;
  file.tensors["network.mean"] = shaped({kFeatures}, drawn(kFeatures, random));
  file.tensors["network.least"] = shaped({kFeatures}, {-3, -3, -3, 0.5F, -3});
  file.tensors["network.most"] = shaped({kFeatures}, {3, 0.5F, 3, 3, -3});
  file.tensors["network.deviation"] = shaped({kFeatures}, {0.5F, 1, 2, 3, 4});
  int64_t inputs = kFeatures;
  for (const auto& [layer, outputs] : {std::pair{"0", 20}, {"1", 7}, {"2", 1}}) {
    const std::string name = std::string("network.") + layer;
    file.tensors[name + ".weight"] = shaped({outputs, inputs}, drawn(outputs * inputs, random));
    file.tensors[name + ".bias"] = shaped({outputs}, drawn(outputs, random));
    if (outputs > 1) {
      file.tensors[name + ".norm.weight"] = shaped({outputs}, drawn(outputs, random, 1));
      file.tensors[name + ".norm.bias"] = shaped({outputs}, drawn(outputs, random));
    }
    inputs = outputs;
  }
  return file;
}

std::vector<float> values_in(const options::TensorFile& file, const std::string& name) {
  return floats_in(file.tensors.at("network." + name));
}

// In f64, number by number.
double by_definition(const options::TensorFile& file, const float* row) {
  std::vector<double> x;
  const auto mean = values_in(file, "mean"), deviation = values_in(file, "deviation");
  const auto least = values_in(file, "least"), most = values_in(file, "most");
  for (int64_t c = 0; c < kFeatures; ++c)
    x.push_back((std::min(std::max(row[c], least[c]), most[c]) - mean[c]) / deviation[c]);
  for (const std::string layer : {"0", "1", "2"}) {
    const auto weight = values_in(file, layer + ".weight"), bias = values_in(file, layer + ".bias");
    std::vector<double> y(bias.begin(), bias.end());
    for (size_t k = 0; k < y.size(); ++k)
      for (size_t i = 0; i < x.size(); ++i) y[k] += weight[k * x.size() + i] * x[i];
    x = y;
    if (layer == "2") break;
    double middle = 0, variance = 0;
    for (const double v : x) middle += v / x.size();
    for (const double v : x) variance += (v - middle) * (v - middle) / x.size();
    const auto scale = values_in(file, layer + ".norm.weight"), shift = values_in(file, layer + ".norm.bias");
    for (size_t k = 0; k < x.size(); ++k)
      x[k] = std::max(0.0, (x[k] - middle) / std::sqrt(variance + 1e-5) * scale[k] + shift[k]);
  }
  return x.at(0);
}

std::string refusal(const options::TensorFile& file) {
  try {
    KernelNetwork::in(file, kFeatures);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a network over kernels' rows is what its layers say", "[trees]") {
  const options::TensorFile file = network_file();
  const auto network = KernelNetwork::in(file, kFeatures);
  REQUIRE(network);
  std::mt19937 random(2);
  std::vector<float> rows = drawn(300 * kFeatures, random);
  for (int64_t c = 0; c < kFeatures; ++c) rows[7 * kFeatures + c] = c % 2 == 0 ? 1e6F : -1e6F;  // cut off
  const std::vector<double> found = network->predict_rows(rows);
  REQUIRE(found.size() == 300);
  for (size_t i = 0; i < found.size(); ++i)
    CHECK(found[i] == Approx(by_definition(file, rows.data() + i * kFeatures)).epsilon(1e-4).margin(1e-4));
  CHECK(network->predict_rows({}).empty());
}

TEST_CASE("a network is there or not, and refused where its tensors do not fit together", "[trees]") {
  CHECK_FALSE(KernelNetwork::in({}, kFeatures));
  CHECK(refusal(network_file()).empty());
  for (const char* name : {"least", "most", "mean", "deviation", "0.bias", "1.norm.weight", "2.bias"}) {
    options::TensorFile file = network_file();
    file.tensors.erase(std::string("network.") + name);
    CHECK(refusal(file) == std::string("no network: ") + name);
    file = network_file();
    options::StoredTensor& stored = file.tensors.at(std::string("network.") + name);
    stored = shaped({static_cast<int64_t>(values_in(file, name).size()) + 1},
                    std::vector<float>(values_in(file, name).size() + 1, 1));
    CHECK(refusal(file) == std::string("a network's tensors do not fit together: ") + name);
  }
  options::TensorFile turned = network_file();
  std::ranges::reverse(turned.tensors.at("network.1.weight").shape);
  CHECK(refusal(turned) == "a network's tensors do not fit together: 1");
  options::TensorFile flat = network_file();
  flat.tensors.at("network.deviation") = shaped({kFeatures}, {1, 1, 0, 1, 1});
  CHECK(refusal(flat) == "a network with a deviation that is not positive");
  options::TensorFile turned_range = network_file();
  turned_range.tensors.at("network.most") = shaped({kFeatures}, {3, 3, 3, 3, -4});
  CHECK(refusal(turned_range) == "a network whose inputs have no range");
  options::TensorFile infinite = network_file();
  infinite.tensors.at("network.2.bias") = shaped({1}, {std::numeric_limits<float>::infinity()});
  CHECK(refusal(infinite) == "a network with numbers that are not finite: 2.bias");
  options::TensorFile wide = network_file();
  wide.tensors.erase("network.2.weight");
  wide.tensors.at("network.1.weight").shape = {7, 20};
  CHECK(refusal(wide) == "a network with more than one output");
}

}  // namespace hone::cost
