// The commands of the learning library that train and use graph policies: JSON in, JSON out.
#pragma once

#include <nlohmann/json.hpp>

#include "cost/learn_abi.h"

namespace hone::learn {

// Request: {"problems": [{"name", "graph", "topology": task_graph_json.h, "factor": [ops], "default_fusion": [ops], "start": "best" or a strategy,
// "tasks": some of the policy's, absent = all}],
// "policy": options/go_options.h or "from": path of a policy, "training": GoTrainOptions, "samples" of the evaluations before
// and after, "out", "checkpoint", "checkpoint_every", "resume", "log_dir", "command", "quiet", "plans": whether to
// return them}. Response per problem: the start, what the policy decides before and after training, and the best plan
// found. The policy is written even if the run was interrupted.
nlohmann::json run_go_train(const nlohmann::json& request, const cost::LearnHost& host);

// Request and response: go/go_place.h, and in the request "training": GoTrainOptions. Plans without training need no torch.
nlohmann::json run_go_place(const nlohmann::json& request, const cost::LearnHost& host);

}  // namespace hone::learn
