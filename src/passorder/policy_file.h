// Files of policies: safetensors with the statistics of the inputs, the network, and the metadata needed to use it. `hone gym
// train` writes them (learn/agents/policy_file.h). They are evaluated here, without torch.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "options/agent_options.h"
#include "options/safetensors.h"
#include "passorder/environment.h"

namespace hone::passorder {

class LearnedPolicy;

inline constexpr const char* kPolicyFormat = "hone-policy-1";
inline constexpr const char* kFollowerFormat = "hone-policy-order-1";  // follows an order (order_follower.h)

// What a file says about its policy.
struct PolicyHeader {
  options::AgentOptions options;
  EnvironmentSpec spec;
  nlohmann::json environment;  // its options, as given to the training command
  nlohmann::json order;        // that it follows; null where the network's scores are the policy
};

nlohmann::json to_json(const EnvironmentSpec& spec);
EnvironmentSpec spec_from_json(const nlohmann::json& json);  // throws Error

// Throws Error (where = path) for other files and for damaged metadata.
PolicyHeader read_policy_header(const options::TensorFile& file, const std::string& path);

// The policy of a file, whose network reads a vector ("mlp") or a graph, too ("gnn"): its scores are those of torch, up to rounding.
// Throws Error (where = path) if its tensors are missing or do not fit.
std::unique_ptr<LearnedPolicy> open_network_policy(const options::TensorFile& file, PolicyHeader header,
                                                   const std::string& path);

}  // namespace hone::passorder
