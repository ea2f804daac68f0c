// The options of an environment as JSON, for the Python package, the learning library and policies.
#pragma once

#include <nlohmann/json.hpp>

#include "passorder/pass_env.h"

namespace hone::passorder {

// Members: "id", whose defaults the others replace; "programs", "passes", "traj_limit", "reward_scale", "shaping", "gamma",
// "shaping_scale", "costs", "graph", "log_counts", "action_history", "run_time", "predicted_time", "models", "measure_ms", "failure_penalty", "step_limit_s", "threads",
// "input_seed", and "worker", the path of hone-xla. Throws Error for unknown and ill-typed ones; null means the default.
PassEnvOptions pass_env_options_from_json(nlohmann::json json);

}  // namespace hone::passorder
