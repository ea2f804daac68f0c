// Gradient-boosted trees, scored without the library that trained them (Friedman 2001, "Greedy function approximation: a
// gradient boosting machine"). A file of several ensembles over the same features, one for each thing that is predicted.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

namespace hone::cost {

class Trees {
 public:
  // {"base": 0.1, "trees": [{"feature": [0, -1, -1], "value": [3.5, 0.1, -0.2], "left": [1, 0, 0]}, ...]}: nodes in any order that
  // begins with the root; a row goes to node left[i] where feature[i] is below value[i], else to left[i] + 1; a node of
  // feature -1 is a leaf and adds its value. Throws Error for what is no such tree, among it nodes that form a circle.
  static Trees from_json(const nlohmann::json& json, size_t features);

  double predict(std::span<const float> features) const;  // as many as from_json() was told
  size_t size() const { return roots_.size(); }           // trees

 private:
  struct Node {
    float value = 0;
    int32_t feature = -1, left = 0;
  };
  void add(const nlohmann::json& tree, size_t features);

  double base_ = 0;
  std::vector<Node> nodes_;
  std::vector<int32_t> roots_;
};

}  // namespace hone::cost
