#include "cost/trees.h"

#include "base/error.h"

namespace hone::cost {

namespace {

constexpr int32_t kMostNodes = 1 << 16;  // of one tree

}  // namespace

Trees Trees::from_arrays(const Arrays& arrays, size_t features) {
  const auto& [base, feature, value, left, roots] = arrays;
  if (value.size() != feature.size() || left.size() != feature.size())
    throw Error("the lists of a tree differ in length");
  Trees all;
  all.base_ = base;
  all.features_ = features;
  all.nodes_.reserve(feature.size());
  const auto nodes = static_cast<int32_t>(feature.size());
  if (!roots.empty() && roots[0] != 0) throw Error("the first tree does not begin with the first node");
  for (size_t t = 0; t < roots.size(); ++t) {
    const int32_t root = roots[t], end = t + 1 < roots.size() ? roots[t + 1] : nodes;
    if (root >= end || end > nodes) throw Error("a tree without nodes");
    if (end - root > kMostNodes) throw Error("a tree of too many nodes");
    for (int32_t i = root; i < end; ++i) {
      const bool leaf = feature[i] < 0;
      // Children come after their parent, so no path is a circle.
      if (!leaf && (feature[i] >= static_cast<int32_t>(features) || left[i] <= i - root || left[i] + 1 >= end - root))
        throw Error("a node of a tree has no such feature or child");
      all.nodes_.push_back({value[i], leaf ? int16_t{-1} : feature[i], static_cast<uint16_t>(leaf ? 0 : left[i])});
    }
    all.roots_.push_back(root);
  }
  return all;
}

Trees Trees::from_json(const nlohmann::json& json, size_t features) {
  std::vector<int16_t> feature;
  std::vector<float> value;
  std::vector<int32_t> left, roots;
  const auto append = [](auto& all, const nlohmann::json& list) {
    const auto more = list.get<std::remove_reference_t<decltype(all)>>();
    all.insert(all.end(), more.begin(), more.end());
  };
  try {
    for (const nlohmann::json& tree : json.at("trees")) {
      roots.push_back(static_cast<int32_t>(feature.size()));
      append(feature, tree.at("feature"));
      append(value, tree.at("value"));
      append(left, tree.at("left"));
      if (value.size() != feature.size() || left.size() != feature.size())
        throw Error("the lists of a tree differ in length");
    }
    return from_arrays({json.at("base").get<double>(), feature, value, left, roots}, features);
  } catch (const nlohmann::json::exception& e) {
    throw Error(std::string("these are no trees: ") + e.what());
  }
}

float Trees::leaf_of(int32_t root, const float* features) const {
  const Node *const tree = &nodes_[root], *node = tree;
  while (node->feature >= 0) node = &tree[node->left + (features[node->feature] < node->value ? 0 : 1)];
  return node->value;
}

double Trees::predict(std::span<const float> features) const {
  double sum = base_;
  for (const int32_t root : roots_) sum += leaf_of(root, features.data());
  return sum;
}

std::vector<double> Trees::predict_rows(std::span<const float> rows) const {
  if (features_ == 0 || rows.size() % features_ != 0) throw InternalError("rows of another width than the trees'");
  std::vector<double> sums(rows.size() / features_, base_);
  for (const int32_t root : roots_)
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += leaf_of(root, rows.data() + i * features_);
  return sums;
}

}  // namespace hone::cost
