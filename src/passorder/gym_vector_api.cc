// Vectors of environments through C (gym_api.h).
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/json_text.h"
#include "passorder/gym_api.h"
#include "passorder/gym_api_errors.h"
#include "passorder/pass_env_json.h"
#include "passorder/vector_environment.h"

using namespace hone::passorder;
using nlohmann::json;

struct hone_vec {
  // The first environment of each worker process, which the others of it are clones of.
  std::vector<std::unique_ptr<PassEnv>> first;
  std::unique_ptr<VectorEnvironment> environments;
  std::vector<json> last_info;  // [count]
  std::string text;             // of the last result
};

namespace {

constexpr int64_t kMost = 4096;
constexpr char kStateFormat[] = "hone-gym-vector-state-1";

int64_t take_count(json& options, const char* name, int64_t most) {
  const json value = options.value(name, json());
  options.erase(name);
  if (!value.is_number_integer() || value.get<int64_t>() < 1 || value.get<int64_t>() > most)
    throw hone::Error("the value " + value.dump() + " does not fit", name, "1 to " + std::to_string(most));
  return value.get<int64_t>();
}

// One row per environment; a null pointer takes nothing.
void put(const Observation& observation, int64_t row, float* values, float* costs) {
  const auto copy = [row](const std::vector<float>& from, float* to) {
    if (to != nullptr) std::copy(from.begin(), from.end(), to + row * static_cast<int64_t>(from.size()));
  };
  copy(observation.values, values);
  copy(observation.costs, costs);
}

void put_all(const std::vector<Observation>& observations, float* values, float* costs) {
  for (size_t i = 0; i < observations.size(); ++i) put(observations[i], static_cast<int64_t>(i), values, costs);
}

// Empty before the first episode.
std::string fingerprint(const hone_vec* vec, int64_t index) {
  return vec->environments->environment(index).info().value("fingerprint", "");
}

// Null unless it is the reward.
json predicted_time(const hone_vec* vec, int64_t index) {
  return vec->environments->environment(index).info().value("predicted_time", json());
}

json saved(const hone_vec* vec) {
  json environments = vec->environments->save();
  for (int64_t i = 0; i < std::ssize(environments); ++i) {
    environments[i]["fingerprint"] = fingerprint(vec, i);
    if (const json time = predicted_time(vec, i); !time.is_null()) environments[i]["predicted_time"] = time;
  }
  return {{"format", kStateFormat},
          {"passes", vec->first[0]->actions()},
          {"programs", vec->first[0]->programs()},
          {"seed", vec->environments->seed()},
          {"environments", environments}};
}

// Changes nothing where the state is of other environments.
void restore_saved(hone_vec* vec, const json& state) {
  if (!state.is_object() || state.value("format", "") != kStateFormat)
    throw hone::Error("not a saved state of a vector of environments", "format", kStateFormat);
  if (state.at("passes") != json(vec->first[0]->actions()))
    throw hone::Error("the state is of environments with other passes", "passes");
  if (state.at("programs") != json(vec->first[0]->programs()))
    throw hone::Error("the state is of environments with other programs", "programs");
  const json& environments = state.at("environments");
  vec->environments->restore(environments, state.at("seed").get<uint64_t>());
  vec->environments->observations();
  if (environments.front().at("episode").get<int64_t>() < 0) return;
  for (int64_t i = 0; i < vec->environments->count(); ++i) {
    if (environments[i].at("fingerprint") != fingerprint(vec, i))
      throw hone::Error("the passes of environment " + std::to_string(i) + " lead to another program here",
                        "fingerprint");
    hone::passorder::check_predicted_time(environments[i].value("predicted_time", json()), predicted_time(vec, i));
  }
}

void require_index(const hone_vec* vec, int64_t index) {
  const int64_t count = vec->environments->count();
  if (index < 0 || index >= count)
    throw hone::Error("there is no environment " + std::to_string(index), "index", "0 to " + std::to_string(count - 1));
}

const char* answer(hone_vec* handle, const std::function<json()>& make) {
  const auto write = [&] { handle->text = make().dump(-1, ' ', false, json::error_handler_t::replace); };
  return guarded(write) ? handle->text.c_str() : nullptr;
}

}  // namespace

extern "C" {

hone_vec* hone_vec_make(const char* text) {
  auto made = std::make_unique<hone_vec>();
  const bool done = guarded([&] {
    json options = json::parse(hone::shallow_json(text));
    const int64_t count = take_count(options, "count", kMost), workers = take_count(options, "workers", count);
    const PassEnvOptions parsed = pass_env_options_from_json(options);
    if (parsed.graph)
      throw hone::Error("graphs of different sizes form no array", parsed.id, "step single environments");
    for (int64_t i = 0; i < workers; ++i) made->first.push_back(std::make_unique<PassEnv>(parsed));
    const auto make = [&](int64_t index) { return made->first[index % workers]->clone(); };
    made->environments = std::make_unique<VectorEnvironment>(count, make, 0, workers > 1);
    made->last_info.resize(count);
  });
  return done ? made.release() : nullptr;
}

void hone_vec_free(hone_vec* vec) { delete vec; }

const char* hone_vec_spec(hone_vec* vec) {
  return answer(vec, [&]() -> json {
    const EnvironmentSpec& spec = vec->environments->spec();
    return {{"id", spec.id},
            {"actions", vec->first[0]->actions()},
            {"programs", vec->first[0]->programs()},
            {"observation_width", spec.observation_width},
            {"cost_width", spec.cost_width},
            {"node_width", spec.node_width}};
  });
}

int hone_vec_reset(hone_vec* vec, uint64_t seed, float* values, float* costs) {
  return guarded([&] {
    put_all(vec->environments->restart(seed), values, costs);
    std::fill(vec->last_info.begin(), vec->last_info.end(), json());
  });
}

int hone_vec_step(hone_vec* vec, const int64_t* actions, float* values, float* costs, double* rewards, int* flags,
                  float* last_values, float* last_costs) {
  return guarded([&] {
    const int64_t count = vec->environments->count();
    const std::vector<VectorStep> steps = vec->environments->step({actions, static_cast<size_t>(count)}, true);
    for (int64_t i = 0; i < count; ++i) {
      const Step& step = steps[i].step;
      put(steps[i].next, i, values, costs);
      if (step.done()) put(step.observation, i, last_values, last_costs);
      rewards[i] = step.reward;
      flags[i] = (step.terminated ? 1 : 0) | (step.truncated ? 2 : 0) | (step.error.empty() ? 0 : 4);
      vec->last_info[i] = steps[i].info;
    }
  });
}

const char* hone_vec_info(hone_vec* vec, int64_t index) {
  return answer(vec, [&] {
    require_index(vec, index);
    return vec->environments->environment(index).info();
  });
}

const char* hone_vec_last_info(hone_vec* vec, int64_t index) {
  return answer(vec, [&] {
    require_index(vec, index);
    return vec->last_info[index];
  });
}

int hone_vec_mask(hone_vec* vec, uint8_t* mask) {
  return guarded([&] {
    for (int64_t i = 0; i < vec->environments->count(); ++i) {
      const std::vector<bool> allowed = vec->environments->environment(i).action_mask();
      std::copy(allowed.begin(), allowed.end(), mask + i * static_cast<int64_t>(allowed.size()));
    }
  });
}

const char* hone_vec_save(hone_vec* vec) {
  return answer(vec, [&] { return saved(vec); });
}

int hone_vec_restore(hone_vec* vec, const char* text, float* values, float* costs) {
  return guarded([&] {
    restore_saved(vec, json::parse(hone::shallow_json(text)));
    put_all(vec->environments->observations(), values, costs);
  });
}

}  // extern "C"
