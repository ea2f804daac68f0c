#include "sharding/signatures.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "base/text.h"

namespace hone::sharding {

namespace {

constexpr int kSteps = 4;  // a layer apart, projections of attention differ; repeated layers are the same

uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t h = a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2));
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdULL;
  return h ^ (h >> 33);
}

uint64_t own_signature(const Node& node) {
  std::string text = node.opcode + " " + std::to_string(node.shape.element_type);
  const auto add = [&](const std::vector<int64_t>& numbers) {
    text += ';';
    for (int64_t n : numbers) text += std::to_string(n) + ",";
  };
  add(node.shape.dims);
  add(node.dimensions);
  add(node.dot.lhs_contracting);
  add(node.dot.rhs_contracting);
  return hash64(text);
}

bool is_elementwise(const std::string& opcode) {
  static const std::set<std::string> kOpcodes = {
      "abs",     "add",     "and",          "atan2",    "cbrt",      "ceil",        "clamp",
      "compare", "convert", "copy",         "cosine",   "divide",    "exponential", "exponential-minus-one",
      "floor",   "log",     "log-plus-one", "logistic", "maximum",   "minimum",     "multiply",
      "negate",  "not",     "or",           "power",    "remainder", "rsqrt",       "select",
      "sign",    "sine",    "sqrt",         "subtract", "tanh",      "xor"};
  return kOpcodes.contains(opcode);
}

std::vector<int64_t> without_ones(std::vector<int64_t> dims) {
  std::erase(dims, 1);
  return dims;
}

}  // namespace

std::vector<uint64_t> forward_signatures(const HloGraph& graph) {
  const Computation& entry = graph.computations[graph.entry];
  std::vector<uint64_t> own(graph.nodes.size()), current;
  for (int32_t i = entry.first; i < entry.last; ++i) own[i] = own_signature(graph.nodes[i]);
  current = own;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<std::vector<uint64_t>> users(graph.nodes.size());
    for (int32_t i = entry.first; i < entry.last; ++i) {
      const auto& operands = graph.nodes[i].operands;
      for (size_t k = 0; k < operands.size(); ++k)
        if (!graph.nodes[i].is_root || graph.nodes[i].opcode != "tuple")  // which result it is says nothing
          users[operands[k]].push_back(mixed(current[i], k));
    }
    std::vector<uint64_t> next = own;
    for (int32_t i = entry.first; i < entry.last; ++i) {
      std::sort(users[i].begin(), users[i].end());
      for (uint64_t user : users[i]) next[i] = mixed(next[i], user);
    }
    current = std::move(next);
  }
  return current;
}

std::vector<int32_t> same_shape_classes(const HloGraph& graph, Reshapes reshapes) {
  const Computation& entry = graph.computations[graph.entry];
  std::vector<int32_t> parent(graph.nodes.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto find = [&](int32_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (int32_t i = entry.first; i < entry.last; ++i) {
    const Node& node = graph.nodes[i];
    const bool reshape = reshapes == Reshapes::Ones && node.opcode == "reshape";
    if (!(reshape || is_elementwise(node.opcode)) || node.shape.dims.empty()) continue;
    for (int32_t operand : node.operands) {
      const std::vector<int64_t>& dims = graph.nodes[operand].shape.dims;
      if (dims == node.shape.dims || (reshape && without_ones(dims) == without_ones(node.shape.dims)))
        parent[find(i)] = find(operand);
    }
  }
  for (size_t i = 0; i < parent.size(); ++i) parent[i] = find(static_cast<int32_t>(i));
  return parent;
}

}  // namespace hone::sharding
