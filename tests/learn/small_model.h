// Options of a network small enough for tests.
#pragma once

#include <string>

#include "options/model_options.h"

namespace hone::learn {

inline options::ModelOptions small_model(const std::string& name) {
  options::ModelOptions options;
  options.name = name;
  options.hidden = 16;
  options.opcode_embedding = 8;
  options.gnn_layers = 2;
  options.node_final_layers = 1;
  options.dropout = 0;
  return options;
}

}  // namespace hone::learn
