// The subcommands of `hone gym` that have their own files.
#pragma once

#include "cli/cli.h"

namespace hone::cli {

Runner declare_gym_eval(CLI::App& app);         // gym_eval.cc
Runner declare_gym_leaderboard(CLI::App& app);  // gym_leaderboard.cc
Runner declare_gym_replay(CLI::App& app);

}  // namespace hone::cli
