// The library's commands on networks for kernels; rows of learn_commands().
#pragma once

#include <nlohmann/json.hpp>

#include "cost/learn_abi.h"

namespace hone::learn {

// Request: {"dataset", "split", "out", "options": train_options.h, "checkpoint", "checkpoint_every", "resume", "log_dir",
// "command", "quiet"}. Response: a summary with the metrics of the written weights on the validation part.
nlohmann::json run_train(const nlohmann::json& request, const cost::LearnHost& host);

}  // namespace hone::learn
