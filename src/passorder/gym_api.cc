#include "passorder/gym_api.h"

#include <algorithm>
#include <functional>

#include "base/json_text.h"
#include "passorder/gym_api_errors.h"
#include "passorder/pass_env_json.h"

using hone::passorder::guarded;
using hone::passorder::Observation;
using hone::passorder::PassEnv;
using nlohmann::json;

struct hone_env {
  std::unique_ptr<PassEnv> env;
  std::shared_ptr<const hone::passorder::GraphObservation> graph;
  std::string text;  // of the last result
};

namespace {

void put(hone_env& handle, const Observation& observation, float* values, float* costs) {
  handle.graph = observation.graph;
  if (values != nullptr) std::copy(observation.values.begin(), observation.values.end(), values);
  if (costs != nullptr) std::copy(observation.costs.begin(), observation.costs.end(), costs);
}

const char* answer(hone_env* handle, const std::function<std::string()>& make) {
  return guarded([&] { handle->text = make(); }) ? handle->text.c_str() : nullptr;
}

}  // namespace

extern "C" {

const char* hone_gym_error(void) { return hone::passorder::last_error_text(); }

hone_env* hone_env_make(const char* options) {
  hone_env* made = nullptr;
  guarded([&] {
    made = new hone_env{std::make_unique<PassEnv>(
                            hone::passorder::pass_env_options_from_json(json::parse(hone::shallow_json(options)))),
                        nullptr, ""};
  });
  return made;
}

hone_env* hone_env_clone(hone_env* env) {
  hone_env* made = nullptr;
  guarded([&] {
    std::unique_ptr<hone::passorder::Environment> copy = env->env->clone();
    made = new hone_env{std::unique_ptr<PassEnv>(static_cast<PassEnv*>(copy.release())), env->graph, ""};
  });
  return made;
}

void hone_env_free(hone_env* env) { delete env; }

const char* hone_env_spec(hone_env* env) {
  return answer(env, [&] {
    const auto& spec = env->env->spec();
    const auto& counters = env->env->session().counters();
    return json({{"id", spec.id},
                 {"actions", env->env->actions()},
                 {"programs", env->env->programs()},
                 {"observation_width", spec.observation_width},
                 {"cost_width", spec.cost_width},
                 {"node_width", spec.node_width},
                 {"counters",
                  {{"steps", counters.steps},
                   {"cached", counters.cached},
                   {"changed", counters.changed},
                   {"failed", counters.failed},
                   {"pass_ms", counters.pass_ms},
                   {"call_ms", counters.call_ms},
                   {"restarts", env->env->session().worker_restarts()}}}})
        .dump();
  });
}

const char* hone_env_info(hone_env* env) {
  return answer(env, [&] { return env->env->info().dump(-1, ' ', false, json::error_handler_t::replace); });
}

const char* hone_env_render(hone_env* env) {
  return answer(env, [&] { return env->env->render(); });
}

const char* hone_env_save(hone_env* env) {
  return answer(env, [&] { return env->env->save().dump(-1, ' ', false, json::error_handler_t::replace); });
}

int hone_env_restore(hone_env* env, const char* state, float* values, float* costs) {
  return guarded([&] { put(*env, env->env->restore(json::parse(hone::shallow_json(state))), values, costs); });
}

const char* hone_env_episode(hone_env* env) {
  return answer(env, [&] { return to_json(env->env->episode()).dump(-1, ' ', false, json::error_handler_t::replace); });
}

int hone_env_reset(hone_env* env, uint64_t seed, const char* program, float* values, float* costs) {
  return guarded([&] { put(*env, env->env->reset(seed, {program}), values, costs); });
}

int hone_env_step(hone_env* env, int64_t action, float* values, float* costs, double* reward, int* flags) {
  return guarded([&] {
    const hone::passorder::Step step = env->env->step(action);
    put(*env, step.observation, values, costs);
    *reward = step.reward;
    *flags = (step.terminated ? 1 : 0) | (step.truncated ? 2 : 0) | (step.error.empty() ? 0 : 4);
  });
}

int hone_env_mask(hone_env* env, uint8_t* mask) {
  return guarded([&] {
    const std::vector<bool> allowed = env->env->action_mask();
    std::copy(allowed.begin(), allowed.end(), mask);
  });
}

void hone_env_graph_size(hone_env* env, int64_t* nodes, int64_t* edges) {
  *nodes = env->graph ? env->graph->nodes() : 0;
  *edges = env->graph ? static_cast<int64_t>(env->graph->edge_from.size()) : 0;
}

void hone_env_graph(hone_env* env, uint8_t* opcodes, float* features, int32_t* edges) {
  if (!env->graph) return;
  const auto& graph = *env->graph;
  std::copy(graph.opcodes.begin(), graph.opcodes.end(), opcodes);
  std::copy(graph.node_features.begin(), graph.node_features.end(), features);
  for (size_t i = 0; i < graph.edge_from.size(); ++i) {
    edges[2 * i] = graph.edge_from[i];
    edges[2 * i + 1] = graph.edge_to[i];
  }
}

}  // extern "C"
