// A trained policy from its file, evaluated without torch (policy_file.h).
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "passorder/environment.h"

namespace hone::passorder {

class LearnedPolicy {
 public:
  virtual ~LearnedPolicy() = default;
  virtual std::string agent() const = 0;            // "ppo"
  virtual const EnvironmentSpec& spec() const = 0;  // of the environment it was trained in
  // The options of that environment, as given to the training command.
  virtual const nlohmann::json& environment() const = 0;
  virtual nlohmann::json order() const { return nullptr; }  // PolicyHeader::order
  // One row of spec().actions numbers per observation: log-probabilities, or for dqn the expected returns. The largest is
  // the action to take. With an order: logits of the chances that actions change the program. Throws InternalError for observations that do not fit the spec.
  virtual std::vector<float> scores(std::span<const Observation> observations) = 0;
};

// Throws Error (where = path) for damaged files and for files without a policy.
std::unique_ptr<LearnedPolicy> load_policy(const std::string& path);

}  // namespace hone::passorder
