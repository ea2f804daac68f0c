#include "go/go_file.h"

#include <cstdlib>

#include "base/error.h"
#include "base/json_text.h"

namespace hone::go {

namespace {

constexpr const char* kPolicyFormat = "hone-go-policy-2";

}  // namespace

GoPolicyFile read_go_policy(const std::string& path) {
  GoPolicyFile policy;
  policy.weights = options::read_safetensors(path);
  const auto& metadata = policy.weights.metadata;
  const auto format = metadata.find("format");
  if (format == metadata.end() || format->second != kPolicyFormat)
    throw Error("not a graph policy written by hone", path, "hone go train writes policies");
  const auto text = [&](const char* key) {
    const auto found = metadata.find(key);
    if (found == metadata.end()) throw Error(std::string("the policy has no ") + key, path);
    return found->second;
  };
  const nlohmann::json json = nlohmann::json::parse(shallow_json(text("options")), nullptr, false);
  if (json.is_discarded()) throw Error("the policy is damaged: options", path);
  try {
    policy.options = options::go_options_from_json(json);
    policy.options.validate();
  } catch (const Error& e) {
    throw Error(e.what(), path, e.hint());
  }
  policy.origin = {text("command"), std::strtoull(text("seed").c_str(), nullptr, 10),
                   std::strtoll(text("iterations").c_str(), nullptr, 10), text("known")};
  return policy;
}

void write_go_policy(const std::string& path, GoPolicyFile policy) {
  policy.weights.metadata = {{"format", kPolicyFormat},
                             {"options", to_json(policy.options).dump()},
                             {"command", policy.origin.command},
                             {"seed", std::to_string(policy.origin.seed)},
                             {"iterations", std::to_string(policy.origin.iterations)},
                             {"known", policy.origin.known}};
  options::write_safetensors(path, policy.weights);
}

}  // namespace hone::go
