// Files of graph policies: safetensors with the weights, and in the metadata the options and where the policy is from.
#pragma once

#include <cstdint>
#include <string>

#include "options/go_options.h"
#include "options/safetensors.h"

namespace hone::go {

struct GoOrigin {
  std::string command;  // the training command
  uint64_t seed = 0;
  int64_t iterations = 0;
  std::string known = "{}";  // JSON: what online use stores about graphs it has seen
};

struct GoPolicyFile {
  options::GoOptions options;
  GoOrigin origin;
  options::TensorFile weights;  // as read; its metadata are older than `origin` if that has been changed
};

GoPolicyFile read_go_policy(const std::string& path);  // throws Error (where = path) for other and for damaged files
void write_go_policy(const std::string& path, GoPolicyFile policy);  // throws RunError

}  // namespace hone::go
