#include "cost/work_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace hone::cost {

const std::vector<std::string>& work_term_names() {
  static const std::vector<std::string> names = {
#define TERM(name) #name,
#include "cost/work_terms.def"
#undef TERM
      "constant"};
  return names;
}

const std::vector<std::string>& kernel_work_term_names() {
  static const std::vector<std::string> names = {
#define TERM(name) #name,
#include "cost/kernel_work_terms.def"
#undef TERM
      "constant"};
  return names;
}

std::vector<std::string> work_feature_names(const std::vector<std::string>& terms) {
  std::vector<std::string> names = {"work_over_analytical"};
  for (const std::string& term : terms) names.push_back("share_of_" + term);
  return names;
}

WorkModel::WorkModel(std::vector<float> weights, const std::vector<std::string>& terms,
                     const std::vector<std::string>& features, double most_ratio)
    : weights_(std::move(weights)), most_ratio_(most_ratio) {
  const auto sound = [](float weight) { return std::isfinite(weight) && weight >= 0; };
  if (weights_.size() != terms.size() || !std::all_of(weights_.begin(), weights_.end(), sound))
    throw Error("the weights of a kernel's work are damaged");
  for (size_t t = 0; t + 1 < terms.size(); ++t) {
    const auto at = std::find(features.begin(), features.end(), terms[t]);
    if (at == features.end()) throw InternalError("no feature " + terms[t]);
    columns_.push_back(static_cast<size_t>(at - features.begin()));
  }
}

double WorkModel::append(double analytical_ns, std::vector<float>& rows, size_t begin) const {
  std::vector<double> ns(weights_.size(), weights_.back());
  double sum = weights_.back();
  for (size_t t = 0; t < columns_.size(); ++t) {
    ns[t] = weights_[t] * std::expm1(static_cast<double>(rows[begin + columns_[t]]));
    sum += ns[t];
  }
  sum = std::max(1.0, sum);
  const double within = std::min(sum, std::max(1.0, analytical_ns * most_ratio_));
  rows.push_back(static_cast<float>(std::log(within / analytical_ns)));
  for (const double of_term : ns) rows.push_back(static_cast<float>(of_term / sum));
  return within;
}

}  // namespace hone::cost
