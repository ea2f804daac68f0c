// Plans by a graph policy, and what the learning library's commands on graph policies share with them: JSON in, JSON out.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "go/go_file.h"
#include "go/go_problem.h"
#include "go/go_scores.h"

namespace hone::go {

struct GoTrained {
  int64_t iterations = 0;
  bool interrupted = false;
};
// Trains the weights further on the problems, whose best plans it improves.
using GoTraining = std::function<GoTrained(GoPolicyFile& policy, std::vector<GoProblem>& problems)>;

// Request: {"problem": {"name", "graph", "topology": task_graph_json.h, "factor": [ops], "default_fusion": [ops], "start": "best"
// or a strategy, "tasks": some of the policy's, absent = all, "parameters": "copied" (default) or "home"}, "policy": path,
// "samples", "seed", "threads", "online": path of a policy that is trained further while it is used, and remembers the best plan of every graph it has seen; "quiet",
// "finalists": whether to return more plans than the best}. Response: {"plan", "seconds" (null: nothing fits into memory),
// "start", "finalists": [{"seconds", "plan"}] fastest first, ...}. Never worse than the start, and online never worse than
// what is remembered. Throws Error for a policy or a problem that does not fit.
nlohmann::json place_by_policy(const nlohmann::json& request, const GoTraining& train = {});

// Throws Error for tasks that the policy does not decide.
GoProblem problem_of(const nlohmann::json& json, const options::GoOptions& options);
// Runs one evaluation; returns its times and the step times found.
nlohmann::json evaluation(GoScorer& policy, GoProblem& problem, int64_t samples, uint64_t seed);
// JSON has no infinity: null means that the plan does not fit into memory.
nlohmann::json seconds_json(double seconds);
double peak_memory_bytes();  // of this process

}  // namespace hone::go
