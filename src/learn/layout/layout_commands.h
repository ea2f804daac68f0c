// The library's commands on layout rankers; rows of learn_commands().
#pragma once

#include <nlohmann/json.hpp>

#include "cost/learn_abi.h"

namespace hone::learn {

// Request: {"data", "cache", "out", "options": layout_train_options.h, "checkpoint", "checkpoint_every", "resume",
// "log_dir", "command", "quiet"}. Response: a summary with every fold's validation tau.
nlohmann::json run_train_layout(const nlohmann::json& request, const cost::LearnHost& host);

// Request: {"data", "cache", "weights": [files], "part": "test" | "all", "augment", "batch", "seed", "threads", "quiet"}.
// Weights with equal options count as seeds of one model. Response: {"part", "held_out", "graphs": [{"graph",
// "configurations", "models": {label: metrics with "kendall_tau_spread"}}], "mean": {label: metrics}, "models": {label:
// {"weights", "seeds", "members", "seconds"}}}.
nlohmann::json run_eval_layout(const nlohmann::json& request, const cost::LearnHost& host);

// Request: {"data", "weights", "augment", "batch", "seed", "threads"}. Response: {"graphs": [{"graph", "scores":
// [configurations]}], "seconds"}: a score of every configuration, lower = faster, measured or not.
nlohmann::json run_rank_layout(const nlohmann::json& request, const cost::LearnHost& host);

}  // namespace hone::learn
