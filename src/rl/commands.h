// The commands of libhone_learn.so that train agents: a table; JSON in, JSON out.
#pragma once

#include <vector>

#include "train/commands.h"

namespace hone::rl {

const std::vector<train::LearnCommand>& agent_commands();

}  // namespace hone::rl
