// Policies as safetensors (passorder/policy_file.h), written and evaluated with torch.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "learn/agents/agent.h"
#include "passorder/learned_policy.h"

namespace hone::learn {

struct PolicyOrigin {
  nlohmann::json environment;  // how it was made
  std::string command;         // the training command
  int64_t steps = 0;           // of training
};

// Throws RunError (where = path).
void save_policy(const std::string& path, const Agent& agent, const options::AgentOptions& options,
                 const passorder::EnvironmentSpec& spec, const PolicyOrigin& origin);
// Throws Error (where = path).
std::unique_ptr<passorder::LearnedPolicy> open_policy(const std::string& path);

}  // namespace hone::learn
