#include "passorder/learned_policy.h"

#include "cost/learn_loader.h"
#include "passorder/policy_file.h"

namespace hone::passorder {

std::unique_ptr<LearnedPolicy> load_policy(const std::string& path, int threads) {
  const options::TensorFile file = options::read_safetensors(path);
  PolicyHeader header = read_policy_header(file, path);
  if (header.options.policy == "mlp") return open_mlp_policy(file, std::move(header), path);
  const auto open = reinterpret_cast<decltype(&hone_rl_open_policy)>(cost::learn_symbol("hone_rl_open_policy"));
  char* error = nullptr;
  std::unique_ptr<LearnedPolicy> policy(open(path.c_str(), threads, &error));
  if (!policy) cost::throw_learn_error(error);
  return policy;
}

}  // namespace hone::passorder
