// The commands of libhone_learn.so: a table; JSON in, JSON out.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "cost/learn_abi.h"

namespace hone::learn {

struct LearnCommand {
  const char* name;
  nlohmann::json (*run)(const nlohmann::json& request, const cost::LearnHost& host);
};
const std::vector<LearnCommand>& learn_commands();

}  // namespace hone::learn
