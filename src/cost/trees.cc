#include "cost/trees.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"

namespace hone::cost {

namespace {

constexpr int32_t kMostNodes = 1 << 15;  // of one tree
constexpr size_t kLineBytes = 64;

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
  if ((features + 1) * kRows > std::numeric_limits<uint16_t>::max()) throw Error("trees of too many features");
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
      all.nodes_.push_back({value[i], static_cast<uint16_t>((leaf ? features : feature[i]) * kRows),
                            static_cast<int16_t>(leaf ? -1 : left[i] - at)});
    }
    all.roots_.push_back(root);
    all.depths_.push_back(depth_of(left.subspan(root, end - root), feature.subspan(root, end - root)));
  }
  all.tops_.resize(all.roots_.size());
  for (size_t t = 0; t < all.roots_.size(); ++t) all.fill_top(all.tops_[t], 0, all.roots_[t]);
  return all;
}

void Trees::fill_top(Top& top, size_t slot, int32_t node) const {
  if (slot >= Top::kNodes) {
    top.below[slot - Top::kNodes] = node;
    return;
  }
  const Node& from = nodes_[node];
  const bool leaf = from.forward < 0;
  top.value[slot] = from.value;
  top.lane0[slot] = from.lane0;
  fill_top(top, 2 * slot + 1, leaf ? node : node + from.forward);
  fill_top(top, 2 * slot + 2, leaf ? node : node + from.forward + 1);
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

// Both functions: kRows walks that do not depend on each other, step by step, in registers. What is below no value goes one node further.

// One tree for each row of the block.
std::array<const Trees::Node*, Trees::kRows> Trees::leaves_of_rows(const float* block, size_t tree) const {
  static const bool vectors = __builtin_cpu_supports("avx2");
  std::array<const Node*, kRows> at;
  int32_t steps = depths_[tree];
  if (vectors) {
    std::array<int32_t, kRows> below;
    cross_top(block, tops_[tree], below.data());
    for (size_t w = 0; w < kRows; ++w) at[w] = nodes_.data() + below[w];
    steps -= static_cast<int32_t>(Top::kLevels);
  } else {
    at.fill(nodes_.data() + roots_[tree]);
  }
  for (; steps > 0; --steps)
#pragma GCC unroll 8
    for (size_t w = 0; w < kRows; ++w) at[w] += at[w]->forward + (block[at[w]->lane0 + w] < at[w]->value ? 0 : 1);
  return at;
}

// below[w]: where the walk of row w goes on.
__attribute__((target("avx2"))) void Trees::cross_top(const float* block, const Top& top, int32_t* below) {
  __m256 left[Top::kNodes];  // of each node, the rows that go there
#pragma GCC unroll 15
  for (size_t i = 0; i < Top::kNodes; ++i)
    left[i] = _mm256_cmp_ps(_mm256_loadu_ps(block + top.lane0[i]), _mm256_broadcast_ss(&top.value[i]), _CMP_LT_OQ);
  // The node of each level that a row comes by: its child on the side of the level before, and so on.
  __m256i path = _mm256_set1_epi32(Top::kNodes);
  const __m256 zero = left[0];
  const __m256 one = _mm256_blendv_ps(left[2], left[1], zero);
  const __m256 two =
      _mm256_blendv_ps(_mm256_blendv_ps(left[6], left[5], one), _mm256_blendv_ps(left[4], left[3], one), zero);
  const auto of_two = [&](size_t i)
                          __attribute__((target("avx2"))) { return _mm256_blendv_ps(left[i + 1], left[i], two); };
  const __m256 three = _mm256_blendv_ps(_mm256_blendv_ps(of_two(13), of_two(11), one),
                                        _mm256_blendv_ps(of_two(9), of_two(7), one), zero);
  for (const auto& [side, width] : {std::pair(zero, 3), std::pair(one, 2), std::pair(two, 1), std::pair(three, 0)})
    path = _mm256_add_epi32(path, _mm256_slli_epi32(_mm256_castps_si256(side), width));
  alignas(32) int32_t slots[kRows];
  _mm256_store_si256(reinterpret_cast<__m256i*>(slots), path);
  for (size_t w = 0; w < kRows; ++w) below[w] = top.below[slots[w]];
}

// One row of the block in kRows trees from this one on.
std::array<const Trees::Node*, Trees::kRows> Trees::leaves_of_trees(const float* block, size_t row, size_t tree) const {
  std::array<const Node*, kRows> at;
  int32_t depth = 0;
  for (size_t w = 0; w < kRows; ++w) {
    at[w] = nodes_.data() + roots_[tree + w];
    depth = std::max(depth, depths_[tree + w]);
  }
  const float* features = block + row;
  for (int32_t step = depth; step > 0; --step)
#pragma GCC unroll 8
    for (size_t w = 0; w < kRows; ++w) at[w] += at[w]->forward + (features[at[w]->lane0] < at[w]->value ? 0 : 1);
  return at;
}

// Each tree for all rows, while it is in the first cache. Every sum gets its leaves in the order of the trees, here and below, so that no
// result depends on how many rows come at once.
void Trees::add_full_blocks(const float* blocks, std::span<double> sums) const {
  for (size_t tree = 0; tree < size(); ++tree) {
    if (tree + 1 < size()) fetch(tree + 1);
    for (size_t row = 0; row < sums.size(); row += kRows) {
      const auto leaves = leaves_of_rows(blocks + row * (features_ + 1), tree);
      for (size_t w = 0; w < kRows; ++w) sums[row + w] += leaves[w]->value;
    }
  }
}

// While the tree before is walked through: all models of an ensemble together are larger than the second cache.
void Trees::fetch(size_t tree) const {
  const size_t end = tree + 1 < size() ? roots_[tree + 1] : nodes_.size();
  for (size_t node = roots_[tree]; node < end; node += kLineBytes / sizeof(Node)) __builtin_prefetch(&nodes_[node]);
  const auto* top = reinterpret_cast<const char*>(&tops_[tree]);
  for (size_t line = 0; line < sizeof(Top); line += kLineBytes) __builtin_prefetch(top + line);
}

// Fewer rows than a block has: several trees at once.
void Trees::add_rows(const float* block, std::span<double> sums) const {
  const size_t together = size() / kRows * kRows;
  for (size_t row = 0; row < sums.size(); ++row)
    for (size_t tree = 0; tree < together; tree += kRows)
      for (const Node* leaf : leaves_of_trees(block, row, tree)) sums[row] += leaf->value;
  for (size_t tree = together; tree < size(); ++tree) {
    const auto leaves = leaves_of_rows(block, tree);
    for (size_t row = 0; row < sums.size(); ++row) sums[row] += leaves[row]->value;
  }
}

void Trees::append_leaves(std::span<const float> features, std::vector<uint16_t>& leaves) const {
  if (features.size() != features_) throw InternalError("a row of another width than the trees'");
  for (const int32_t root : roots_) {
    int32_t at = root;
    while (nodes_[at].forward > 0) {
      const Node& node = nodes_[at];
      at += node.forward + (features[node.lane0 / kRows] < node.value ? 0 : 1);
    }
    leaves.push_back(static_cast<uint16_t>(at - root));
  }
}

double Trees::predict(std::span<const float> features) const {
  if (features.size() != features_) throw InternalError("a row of another width than the trees'");
  return predict_rows(features)[0];
}

std::vector<double> Trees::predict_rows(std::span<const float> rows) const {
  if (features_ == 0 || rows.size() % features_ != 0) throw InternalError("rows of another width than the trees'");
  std::vector<double> sums(rows.size() / features_, base_);
  const size_t blocks = (sums.size() + kRows - 1) / kRows, width = (features_ + 1) * kRows;
  std::vector<float> turned(blocks * width, std::numeric_limits<float>::quiet_NaN());
  for (size_t row = 0; row < sums.size(); ++row) {
    float* lane = turned.data() + row / kRows * width + row % kRows;
    for (size_t f = 0; f < features_; ++f) lane[f * kRows] = rows[row * features_ + f];
  }
  const size_t full = sums.size() / kRows * kRows;
  add_full_blocks(turned.data(), std::span(sums).first(full));
  if (full < sums.size()) add_rows(turned.data() + full / kRows * width, std::span(sums).subspan(full));
  return sums;
}

}  // namespace hone::cost
