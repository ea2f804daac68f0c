#include "passorder/input_scale.h"

#include <algorithm>
#include <cmath>

#include "options/tensor_values.h"

namespace hone::passorder {

namespace {

constexpr float kCut = 10;  // these two as in learn/agents/networks.cc
constexpr double kLeastVariance = 0.01;

}  // namespace

InputScale::InputScale(const options::TensorFile& file, const std::string& name, int64_t width, bool on) : on_(on) {
  if (!on) return;
  const double count = options::tensor_values<double>(file, name + ".count", "F64", {1})[0];
  const std::vector<double> mean = options::tensor_values<double>(file, name + ".mean", "F64", {width});
  const std::vector<double> square = options::tensor_values<double>(file, name + ".square", "F64", {width});
  fitted_ = count > 0;
  if (!fitted_) return;
  mean_.assign(mean.begin(), mean.end());
  for (const double sum : square) factor_.push_back(static_cast<float>(1 / std::sqrt(sum / count + kLeastVariance)));
}

void InputScale::apply(std::span<float> x) const {
  if (!on_) return;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = std::copysign(std::log1p(std::abs(x[i])), x[i]);
    if (fitted_) x[i] = std::clamp((x[i] - mean_[i]) * factor_[i], -kCut, kCut);
  }
}

}  // namespace hone::passorder
