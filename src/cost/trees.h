// Gradient-boosted trees, scored without the library that trained them (Friedman 2001, "Greedy function approximation: a
// gradient boosting machine").
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

namespace hone::cost {

class Trees {
 public:
  // Nodes of all trees, one after the other: a row goes to node left[i] where feature[i] is below value[i], else to left[i] + 1; a node
  // of feature -1 is a leaf and adds its value. left[i] counts from the tree's root, roots from the first node.
  struct Arrays {
    double base = 0;
    std::span<const int16_t> feature;
    std::span<const float> value;
    std::span<const int32_t> left, roots;
  };
  // Throws Error for what is no such trees, among it nodes that form a circle, for features beyond `features`, and for trees of more
  // than 65,536 nodes.
  static Trees from_arrays(const Arrays& arrays, size_t features);
  // {"base": 0.1, "trees": [{"feature": [0, -1, -1], "value": [3.5, 0.1, -0.2], "left": [1, 0, 0]}, ...]}. The same errors.
  static Trees from_json(const nlohmann::json& json, size_t features);

  double predict(std::span<const float> features) const;  // as many as there are features
  // [rows, features]: adds nothing to the results of predict(), but walks each tree for several rows at once, while it is in the cache.
  std::vector<double> predict_rows(std::span<const float> rows) const;
  size_t size() const { return roots_.size(); }  // trees

 private:
  struct Node {  // of 8 bytes: what a row walks through is mostly waiting for memory
    float value = 0;
    uint16_t feature = 0;
    uint16_t left = 0;  // from the root, modulo 65,536
  };
  // One row in one tree.
  struct Walk {
    uint32_t tree = 0;
    const float* features = nullptr;  // and a number that is below nothing
  };
  template <size_t kWalks>
  void walk(const Walk* walks, float* leaves) const;
  void add_leaves(std::span<const float> padded, std::span<double> sums) const;

  double base_ = 0;
  size_t features_ = 0;
  std::vector<Node> nodes_;
  std::vector<int32_t> roots_, depths_;  // of every tree
};

}  // namespace hone::cost
