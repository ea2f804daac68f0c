#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "passorder/learned_policy.h"
#include "passorder/policy_file.h"

using namespace hone;
using namespace hone::passorder;

namespace {

options::StoredTensor stored(std::vector<int64_t> shape, const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return {"F32", std::move(shape), std::move(bytes)};
}

// Two observed numbers, one hidden layer of two, two actions.
options::TensorFile small_policy() {
  options::AgentOptions options = options::paper_options("ppo");
  options.layers = {2};
  options.normalize = false;
  options::TensorFile file;
  file.metadata = {{"format", kPolicyFormat},
                   {"options", options::to_json(options).dump()},
                   {"spec", to_json(EnvironmentSpec{"toy", 2, 2, 0, 0}).dump()},
                   {"environment", R"({"id": "toy"})"}};
  file.tensors = {{"policy.layer0.weight", stored({2, 2}, {1, 0, 0, 2})},
                  {"policy.layer0.bias", stored({2}, {0, 0.5f})},
                  {"policy.layer1.weight", stored({2, 2}, {1, 1, 0, -1})},
                  {"policy.layer1.bias", stored({2}, {0, 0})}};
  return file;
}

}  // namespace

TEST_CASE("a policy of counts is evaluated without the learning library") {
  const TempDir folder;
  const std::string path = (folder.path() / "policy.safetensors").string();
  options::write_safetensors(path, small_policy());
  const auto policy = load_policy(path);
  CHECK(policy->agent() == "ppo");
  CHECK(policy->environment().at("id") == "toy");
  Observation seen;
  seen.values = {0.3f, -1};
  const double a = std::tanh(0.3), b = std::tanh(-1.5);
  const double sum = std::log(std::exp(a + b) + std::exp(-b));
  const std::vector<float> scores = policy->scores({&seen, 1});
  REQUIRE(scores.size() == 2);
  CHECK(scores[0] == Approx(a + b - sum));
  CHECK(scores[1] == Approx(-b - sum));
  seen.values = {1};
  CHECK_THROWS_AS(policy->scores({&seen, 1}), InternalError);
}

TEST_CASE("a policy that follows an order has chances of changes, not of actions") {
  const TempDir folder;
  const std::string path = (folder.path() / "policy.safetensors").string();
  options::TensorFile file = small_policy();
  CHECK([&] {
    options::write_safetensors(path, file);
    return load_policy(path)->order().is_null();
  }());
  file.metadata["format"] = kFollowerFormat;
  options::write_safetensors(path, file);
  CHECK_THROWS_AS(load_policy(path), Error);  // without its order
  file.metadata["order"] = R"({"passes": ["b", "a"], "least_chance": 0.1})";
  options::write_safetensors(path, file);
  const auto policy = load_policy(path);
  CHECK(policy->order().at("least_chance") == 0.1);
  Observation seen;
  seen.values = {0.3f, -1};
  const std::vector<float> scores = policy->scores({&seen, 1});
  CHECK(scores[0] == Approx(std::tanh(0.3) + std::tanh(-1.5)));
  CHECK(scores[1] == Approx(-std::tanh(-1.5)));
}

TEST_CASE("damaged policies are errors that name the file") {
  const TempDir folder;
  const std::string path = (folder.path() / "policy.safetensors").string();
  const auto refused = [&](const options::TensorFile& file) {
    options::write_safetensors(path, file);
    try {
      load_policy(path);
    } catch (const Error& e) {
      return e.where() == path;
    }
    return false;
  };
  options::TensorFile file = small_policy();
  CHECK_FALSE(refused(file));
  file.tensors.erase("policy.layer1.bias");
  CHECK(refused(file));
  file = small_policy();
  file.tensors["policy.layer0.weight"].shape = {1, 4};
  CHECK(refused(file));
  file = small_policy();
  file.metadata["spec"] = "{}";
  CHECK(refused(file));
  file = small_policy();
  file.metadata["format"] = "another";
  CHECK(refused(file));
  file = small_policy();
  file.metadata["spec"] = to_json(EnvironmentSpec{"toy", 2, 0, 0, 0}).dump();
  CHECK(refused(file));
}
