// The commands of libhone_learn.so that train agents: a table; JSON in, JSON out.
#pragma once

#include <vector>

#include "learn/train/commands.h"

namespace hone::learn {

const std::vector<LearnCommand>& agent_commands();

}  // namespace hone::learn
