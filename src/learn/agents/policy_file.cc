#include "learn/agents/policy_file.h"

#include "base/error.h"

namespace hone::learn {

namespace {

constexpr const char* kPolicyFormat = "hone-policy-1";

class OpenedPolicy : public passorder::LearnedPolicy {
 public:
  explicit OpenedPolicy(const options::TensorFile& file)
      : options_(options::agent_options_from_json(parse(file, "options"))),
        spec_(spec_from_json(parse(file, "spec"))),
        environment_(parse(file, "environment")) {
    require_fit(options_, spec_);
    scale_ = std::make_shared<InputScale>(options_, spec_);
    network_ = std::make_shared<ObservationNetwork>(options_, spec_, spec_.actions, false, 1);
    take_module(file, "scale.", *scale_);
    take_module(file, "policy.", *network_);
  }

  std::string agent() const override { return options_.agent; }
  const passorder::EnvironmentSpec& spec() const override { return spec_; }
  const nlohmann::json& environment() const override { return environment_; }

  std::vector<float> scores(std::span<const passorder::Observation> observations) override {
    const torch::InferenceMode inference;
    std::vector<float> all;
    constexpr size_t kAtOnce = 256;
    for (size_t first = 0; first < observations.size(); first += kAtOnce) {
      const auto part = observations.subspan(first, std::min(kAtOnce, observations.size() - first));
      torch::Tensor scores = network_->forward(scale_->forward(stack(part, spec_)));  // [rows, actions]
      if (options_.agent != "dqn") scores = torch::log_softmax(scores, 1);
      scores = scores.contiguous();
      all.insert(all.end(), scores.data_ptr<float>(), scores.data_ptr<float>() + scores.numel());
    }
    return all;
  }

 private:
  static nlohmann::json parse(const options::TensorFile& file, const char* key) {
    const auto found = file.metadata.find(key);
    if (found == file.metadata.end()) throw Error(std::string("the policy has no ") + key);
    const nlohmann::json json = nlohmann::json::parse(found->second, nullptr, false);
    if (json.is_discarded()) throw Error(std::string("the policy is damaged: ") + key);
    return json;
  }

  options::AgentOptions options_;
  passorder::EnvironmentSpec spec_;
  nlohmann::json environment_;
  std::shared_ptr<InputScale> scale_;
  std::shared_ptr<ObservationNetwork> network_;
};

}  // namespace

nlohmann::json to_json(const passorder::EnvironmentSpec& spec) {
  return {{"id", spec.id},
          {"actions", spec.actions},
          {"observation_width", spec.observation_width},
          {"cost_width", spec.cost_width},
          {"node_width", spec.node_width}};
}

passorder::EnvironmentSpec spec_from_json(const nlohmann::json& json) {
  try {
    return {json.at("id"), json.at("actions"), json.at("observation_width"), json.at("cost_width"),
            json.at("node_width")};
  } catch (const nlohmann::json::exception&) {
    throw Error("the description of the environment is damaged");
  }
}

void save_policy(const std::string& path, const Agent& agent, const options::AgentOptions& options,
                 const passorder::EnvironmentSpec& spec, const PolicyOrigin& origin) {
  options::TensorFile file;
  file.metadata = {{"format", kPolicyFormat},      {"options", to_json(options).dump()},
                   {"spec", to_json(spec).dump()}, {"environment", origin.environment.dump()},
                   {"command", origin.command},    {"steps", std::to_string(origin.steps)}};
  agent.save_policy(file);
  options::write_safetensors(path, file);
}

std::unique_ptr<passorder::LearnedPolicy> open_policy(const std::string& path) {
  const options::TensorFile file = options::read_safetensors(path);
  const auto format = file.metadata.find("format");
  if (format == file.metadata.end() || format->second != kPolicyFormat)
    throw Error("not a policy written by hone", path, "hone gym train writes policies");
  try {
    return std::make_unique<OpenedPolicy>(file);
  } catch (const Error& e) {
    throw Error(e.what(), path, e.hint());
  }
}

}  // namespace hone::learn
