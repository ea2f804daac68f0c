#include "learn/agents/policy_file.h"

#include "base/error.h"
#include "passorder/policy_file.h"

namespace hone::learn {

namespace {

class OpenedPolicy : public passorder::LearnedPolicy {
 public:
  OpenedPolicy(const options::TensorFile& file, passorder::PolicyHeader header)
      : options_(std::move(header.options)),
        spec_(std::move(header.spec)),
        environment_(std::move(header.environment)) {
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
  options::AgentOptions options_;
  passorder::EnvironmentSpec spec_;
  nlohmann::json environment_;
  std::shared_ptr<InputScale> scale_;
  std::shared_ptr<ObservationNetwork> network_;
};

}  // namespace

void save_policy(const std::string& path, const Agent& agent, const options::AgentOptions& options,
                 const passorder::EnvironmentSpec& spec, const PolicyOrigin& origin) {
  options::TensorFile file;
  file.metadata = {{"format", passorder::kPolicyFormat}, {"options", to_json(options).dump()},
                   {"spec", to_json(spec).dump()},       {"environment", origin.environment.dump()},
                   {"command", origin.command},          {"steps", std::to_string(origin.steps)}};
  agent.save_policy(file);
  options::write_safetensors(path, file);
}

std::unique_ptr<passorder::LearnedPolicy> open_policy(const std::string& path) {
  const options::TensorFile file = options::read_safetensors(path);
  passorder::PolicyHeader header = passorder::read_policy_header(file, path);
  if (!header.order.is_null()) throw Error("the policy follows an order, which no agent learns", path);
  try {
    return std::make_unique<OpenedPolicy>(file, std::move(header));
  } catch (const Error& e) {
    throw Error(e.what(), path, e.hint());
  }
}

}  // namespace hone::learn
