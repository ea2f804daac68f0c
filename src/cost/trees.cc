#include "cost/trees.h"

#include "base/error.h"

namespace hone::cost {

Trees Trees::from_json(const nlohmann::json& json, size_t features) {
  Trees all;
  try {
    all.base_ = json.at("base").get<double>();
    for (const nlohmann::json& tree : json.at("trees")) all.add(tree, features);
  } catch (const nlohmann::json::exception& e) {
    throw Error(std::string("these are no trees: ") + e.what());
  }
  return all;
}

void Trees::add(const nlohmann::json& tree, size_t features) {
  const auto feature = tree.at("feature").get<std::vector<int32_t>>();
  const auto value = tree.at("value").get<std::vector<float>>();
  const auto left = tree.at("left").get<std::vector<int32_t>>();
  const auto count = static_cast<int32_t>(feature.size());
  if (feature.empty() || value.size() != feature.size() || left.size() != feature.size())
    throw Error("the lists of a tree differ in length");
  const auto root = static_cast<int32_t>(nodes_.size());
  for (int32_t i = 0; i < count; ++i) {
    const bool leaf = feature[i] < 0;
    // Children come after their parent, so no path is a circle.
    if (!leaf && (feature[i] >= static_cast<int32_t>(features) || left[i] <= i || left[i] + 1 >= count))
      throw Error("a node of a tree has no such feature or child");
    nodes_.push_back({value[i], leaf ? -1 : feature[i], root + left[i]});
  }
  roots_.push_back(root);
}

double Trees::predict(std::span<const float> features) const {
  double sum = base_;
  for (const int32_t root : roots_) {
    const Node* node = &nodes_[root];
    while (node->feature >= 0) node = &nodes_[node->left + (features[node->feature] < node->value ? 0 : 1)];
    sum += node->value;
  }
  return sum;
}

}  // namespace hone::cost
