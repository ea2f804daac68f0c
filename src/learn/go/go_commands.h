// The commands of the learning library that train and use graph policies: JSON in, JSON out.
#pragma once

#include <nlohmann/json.hpp>

#include "cost/learn_abi.h"

namespace hone::learn {

// Request: {"problems": [{"name", "graph", "topology": task_graph_json.h, "factor": [ops], "default_fusion": [ops], "start": "best" or a strategy,
// "tasks": some of the policy's, absent = all}],
// "policy": models/go_options.h or "from": path of a policy, "training": GoTrainOptions, "samples" of the evaluations before
// and after, "out", "checkpoint", "checkpoint_every", "resume", "log_dir", "command", "quiet", "plans": whether to
// return them}. Response per problem: the start, what the policy decides before and after training, and the best plan
// found. The policy is written even if the run was interrupted.
nlohmann::json run_go_train(const nlohmann::json& request, const cost::LearnHost& host);

// Request: {"problem": as above, "policy": path, "samples", "steps": 0 = the policy's, "seed", "threads", "training":
// GoTrainOptions or absent, "online": path of a policy that is trained further while it is used, and remembers the best
// plan of every graph it has seen; "quiet", "finalists": whether to return more plans than the best}. Response:
// {"plan", "seconds" (null: nothing fits into memory), "start", "finalists": [{"seconds", "plan"}] fastest first, ...}.
// Never worse than the start, and online never worse than what is remembered.
nlohmann::json run_go_place(const nlohmann::json& request, const cost::LearnHost& host);

}  // namespace hone::learn
