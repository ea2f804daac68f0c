// The library's commands that train agents; rows of learn_commands().
#pragma once

#include <nlohmann/json.hpp>

#include "cost/learn_abi.h"

namespace hone::learn {

// Request: {"environment": pass_env_json.h, "options": agent_options.h, "workers", "out", "checkpoint", "checkpoint_every",
// "resume", "log_dir", "command", "quiet"}. Response: a summary. The policy is written even if the run was interrupted.
nlohmann::json run_gym_train(const nlohmann::json& request, const cost::LearnHost& host);

}  // namespace hone::learn
