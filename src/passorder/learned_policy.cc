#include "passorder/learned_policy.h"

#include "passorder/policy_file.h"

namespace hone::passorder {

std::unique_ptr<LearnedPolicy> load_policy(const std::string& path) {
  const options::TensorFile file = options::read_safetensors(path);
  return open_network_policy(file, read_policy_header(file, path), path);
}

}  // namespace hone::passorder
