#include "cost/trees.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"

namespace hone::cost {

namespace {

constexpr int32_t kMostNodes = 1 << 16;  // of one tree
constexpr size_t kTogether = 8;          // walks at once: one alone mostly waits for memory

// Steps from the root to the deepest leaf; children come after their parent.
int32_t depth_of(std::span<const int32_t> left, std::span<const int16_t> feature) {
  std::vector<int32_t> depth(left.size());
  int32_t most = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    if (feature[i] < 0) continue;
    for (const int32_t child : {left[i], left[i] + 1}) depth[child] = std::max(depth[child], depth[i] + 1);
    most = std::max(most, depth[i] + 1);
  }
  return most;
}

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
      const int32_t at = i - root;
      // Children come after their parent, so no path is a circle.
      if (!leaf && (feature[i] >= static_cast<int32_t>(features) || left[i] <= at || left[i] >= end - root - 1))
        throw Error("a node of a tree has no such feature or child");
      // A leaf reads what follows the features, a number that is below nothing, so its successor is itself.
      all.nodes_.push_back({value[i], static_cast<uint16_t>(leaf ? features : feature[i]),
                            static_cast<uint16_t>(leaf ? at - 1 : left[i])});
    }
    all.roots_.push_back(root);
    all.depths_.push_back(depth_of(left.subspan(root, end - root), feature.subspan(root, end - root)));
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

// Walks that do not depend on each other, step by step.
template <size_t kWalks>
void Trees::walk(const Walk* walks, float* leaves) const {
  std::array<const Node*, kWalks> trees;
  std::array<const float*, kWalks> features;
  std::array<uint16_t, kWalks> at{};
  int32_t depth = 0;
  for (size_t w = 0; w < kWalks; ++w) {
    depth = std::max(depth, depths_[walks[w].tree]);
    trees[w] = nodes_.data() + roots_[walks[w].tree];
    features[w] = walks[w].features;
  }
  for (int32_t step = 0; step < depth; ++step)
    for (size_t w = 0; w < kWalks; ++w) {
      const Node node = trees[w][at[w]];
      at[w] = static_cast<uint16_t>(node.left + (features[w][node.feature] < node.value ? 0 : 1));
    }
  for (size_t w = 0; w < kWalks; ++w) leaves[w] = trees[w][at[w]].value;
}

// Each tree for many rows, while it is in the cache; of the rows that are left over, several trees at once.
void Trees::add_leaves(std::span<const float> padded, std::span<double> sums) const {
  const size_t width = features_ + 1, together = sums.size() / kTogether * kTogether;
  std::array<Walk, kTogether> walks;
  std::array<float, kTogether> leaves;
  for (uint32_t tree = 0; tree < size() && together > 0; ++tree)
    for (size_t i = 0; i < together; i += kTogether) {
      for (size_t w = 0; w < kTogether; ++w) walks[w] = {tree, padded.data() + (i + w) * width};
      walk<kTogether>(walks.data(), leaves.data());
      for (size_t w = 0; w < kTogether; ++w) sums[i + w] += leaves[w];
    }
  for (size_t i = together; i < sums.size(); ++i) {
    const float* row = padded.data() + i * width;
    uint32_t tree = 0;
    for (; tree + kTogether <= size(); tree += kTogether) {
      for (uint32_t w = 0; w < kTogether; ++w) walks[w] = {tree + w, row};
      walk<kTogether>(walks.data(), leaves.data());
      for (const float leaf : leaves) sums[i] += leaf;
    }
    for (; tree < size(); ++tree) {
      walks[0] = {tree, row};
      walk<1>(walks.data(), leaves.data());
      sums[i] += leaves[0];
    }
  }
}

double Trees::predict(std::span<const float> features) const {
  if (features.size() != features_) throw InternalError("a row of another width than the trees'");
  return predict_rows(features)[0];
}

std::vector<double> Trees::predict_rows(std::span<const float> rows) const {
  if (features_ == 0 || rows.size() % features_ != 0) throw InternalError("rows of another width than the trees'");
  std::vector<double> sums(rows.size() / features_, base_);
  std::vector<float> padded(sums.size() * (features_ + 1), std::numeric_limits<float>::quiet_NaN());
  for (size_t i = 0; i < sums.size(); ++i)
    std::copy_n(rows.data() + i * features_, features_, padded.data() + i * (features_ + 1));
  add_leaves(padded, sums);
  return sums;
}

}  // namespace hone::cost
