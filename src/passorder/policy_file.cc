#include "passorder/policy_file.h"

#include "base/error.h"
#include "base/json_text.h"

namespace hone::passorder {

namespace {

nlohmann::json parse(const options::TensorFile& file, const char* key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) throw Error(std::string("the policy has no ") + key);
  const nlohmann::json json = nlohmann::json::parse(shallow_json(found->second), nullptr, false);
  if (json.is_discarded()) throw Error(std::string("the policy is damaged: ") + key);
  return json;
}

}  // namespace

nlohmann::json to_json(const EnvironmentSpec& spec) {
  return {{"id", spec.id},
          {"actions", spec.actions},
          {"observation_width", spec.observation_width},
          {"cost_width", spec.cost_width},
          {"node_width", spec.node_width}};
}

EnvironmentSpec spec_from_json(const nlohmann::json& json) {
  try {
    return {json.at("id"), json.at("actions"), json.at("observation_width"), json.at("cost_width"),
            json.at("node_width")};
  } catch (const nlohmann::json::exception&) {
    throw Error("the description of the environment is damaged");
  }
}

namespace {

// A policy that follows an order must not pass for one that does not.
nlohmann::json order_of(const options::TensorFile& file) {
  nlohmann::json order = parse(file, "order");
  if (!order.is_object()) throw Error("the policy is damaged: order");
  return order;
}

}  // namespace

PolicyHeader read_policy_header(const options::TensorFile& file, const std::string& path) {
  const auto format = file.metadata.find("format");
  const bool follows = format != file.metadata.end() && format->second == kFollowerFormat;
  if (format == file.metadata.end() || (format->second != kPolicyFormat && !follows))
    throw Error("not a policy written by hone", path, "hone gym train writes policies");
  try {
    return {options::agent_options_from_json(parse(file, "options")), spec_from_json(parse(file, "spec")),
            parse(file, "environment"), follows ? order_of(file) : nlohmann::json()};
  } catch (const Error& e) {
    throw Error(e.what(), path, e.hint());
  }
}

}  // namespace hone::passorder
