// What the parameters and products of a program are for, read from its graph: which parameters are data and which weights, which
// of them must be divided alike, and which dimension of a weight a product sums over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/hlo_graph.h"

namespace hone::sharding {

enum class Role : int8_t { Data, Weight, Other };  // Other: scalars, and what has no dimension worth dividing
const char* role_name(Role role);                  // "data", "weight", "other"

struct Argument {
  int number = 0;
  std::string name;  // of its instruction
  std::vector<int64_t> dims;
  int64_t bytes = 0;
  Role role = Role::Other;
  int group =
      0;  // parameters of one group are divided alike: of one role in repeated layers, and the state of an optimiser
};

// A dot or a convolution of the entry computation, or of a loop in it.
struct Product {
  std::string name, opcode;
  std::vector<int64_t> dims;  // of its result
  double flops = 0;
  int group = 0;
  bool in_loop = false;  // its result has no sharding of its own
  // The parameter that is its right side, where there is one, with its dimensions: those summed over and those of the result.
  int weight = -1;
  std::vector<int64_t> summed = {}, kept = {};
  bool after_columns =
      false;  // its left side is computed from a product whose weight Megatron's rule divides by columns
};

struct ProgramArguments {
  std::vector<Argument> arguments;  // by number
  std::vector<Product> products;    // in the order of the computation
  int groups = 0, product_groups = 0;
  int64_t batch = 0;  // most frequent first dimension of the data; 0 = none
};

// `weights`: numbers of parameters that the user declared as weights; without them, what is the right side of a product, the table
// of a gather, broadcast into something larger, or of the shape of one of these. Throws Error for numbers of no parameter.
ProgramArguments read_arguments(const HloGraph& graph, const std::optional<std::vector<int>>& weights);

}  // namespace hone::sharding
