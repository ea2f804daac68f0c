// The commands of libhone_learn.so: a table; JSON in, JSON out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/learn_library.h"

namespace hone::train {

struct LearnCommand {
  const char* name;
  nlohmann::json (*run)(const nlohmann::json& request, const models::LearnHost& host);
};
const std::vector<LearnCommand>& learn_commands();

// The library has a logger of its own; verbosity as in LearnHost.
void set_up_library_log(int verbosity);

}  // namespace hone::train
