// Gradient-boosted trees, scored without the library that trained them (Friedman 2001, "Greedy function approximation: a
// gradient boosting machine").
#pragma once

#include <array>
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
  // Throws Error for what is no such trees, among it nodes that form a circle, for features beyond `features`, for trees of more than
  // 32,768 nodes and for more than 8,190 features.
  static Trees from_arrays(const Arrays& arrays, size_t features);
  // {"base": 0.1, "trees": [{"feature": [0, -1, -1], "value": [3.5, 0.1, -0.2], "left": [1, 0, 0]}, ...]}. The same errors.
  static Trees from_json(const nlohmann::json& json, size_t features);

  double predict(std::span<const float> features) const;  // as many as there are features
  // [rows, features]: adds nothing to the results of predict(), but walks each tree for several rows at once, while it is in the cache.
  std::vector<double> predict_rows(std::span<const float> rows) const;
  // The leaf of each tree that a row falls into, by its number in the tree.
  void append_leaves(std::span<const float> features, std::vector<uint16_t>& leaves) const;
  size_t size() const { return roots_.size(); }  // trees

 private:
  struct Node {  // of 8 bytes: a row reads one for each step
    float value = 0;
    uint16_t lane0 = 0;   // where the feature lies in a block of rows: its number times kRows
    int16_t forward = 0;  // to the child that takes what is below the value; of a leaf -1
  };
  static constexpr size_t kRows =
      8;  // of a block, feature by feature; also the walks at once: one alone mostly waits for memory
  // The first levels of a tree: all rows of a block are compared with each of these nodes, which is cheaper than walks by vectors of AVX2. Where a
  // path ends before, both sides of what is missing lead to its leaf.
  struct Top {
    static constexpr size_t kLevels = 4, kNodes = (1 << kLevels) - 1;
    std::array<float, kNodes> value{};        // in the order of a heap: the children of i are 2 i + 1 and 2 i + 2
    std::array<uint16_t, kNodes> lane0{};     // as in Node
    std::array<int32_t, kNodes + 1> below{};  // where the walks go on, in nodes_
  };
  void fill_top(Top& top, size_t slot, int32_t node) const;
  static void cross_top(const float* block, const Top& top, int32_t* below);
  std::array<const Node*, kRows> leaves_of_rows(const float* block, size_t tree) const;
  std::array<const Node*, kRows> leaves_of_trees(const float* block, size_t row, size_t tree) const;
  void fetch(size_t tree) const;
  void add_full_blocks(const float* blocks, std::span<double> sums) const;
  void add_rows(const float* block, std::span<double> sums) const;

  double base_ = 0;
  size_t features_ = 0;
  std::vector<Node> nodes_;
  std::vector<int32_t> roots_, depths_;  // of every tree
  std::vector<Top> tops_;
};

}  // namespace hone::cost
