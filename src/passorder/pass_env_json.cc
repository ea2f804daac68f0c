#include "passorder/pass_env_json.h"

#include "base/error.h"

namespace hone::passorder {

namespace {

template <class T>
void take(nlohmann::json& from, const char* name, T& to) {
  const auto found = from.find(name);
  if (found == from.end()) return;
  try {
    if (!found->is_null()) to = found->get<T>();
  } catch (const nlohmann::json::exception&) {
    throw Error("the value " + found->dump() + " does not fit", name);
  }
  from.erase(found);
}

}  // namespace

PassEnvOptions pass_env_options_from_json(nlohmann::json from) {
  if (!from.is_object()) throw Error("the options of an environment are not an object");
  std::string id = "hone/XlaPassOrder-v0";
  take(from, "id", id);
  PassEnvOptions options = pass_env_options(id);
  take(from, "programs", options.programs);
  take(from, "passes", options.passes);
  take(from, "traj_limit", options.traj_limit);
  take(from, "reward_scale", options.reward_scale);
  take(from, "shaping", options.shaping);
  take(from, "gamma", options.gamma);
  take(from, "shaping_scale", options.shaping_scale);
  take(from, "costs", options.costs);
  take(from, "info_costs", options.info_costs);
  take(from, "graph", options.graph);
  take(from, "log_counts", options.log_counts);
  take(from, "taken", options.action_history);  // in files of versions before 0.2
  take(from, "action_history", options.action_history);
  take(from, "change_history", options.change_history);
  take(from, "run_time", options.run_time);
  take(from, "predicted_time", options.predicted_time);
  take(from, "models", options.models);
  take(from, "measure_ms", options.measure_ms);
  take(from, "failure_penalty", options.failure_penalty);
  take(from, "probe_masks", options.probe_masks);
  take(from, "worker", options.session.worker.program);
  take(from, "step_limit_s", options.session.step_limit_s);
  take(from, "threads", options.session.threads);
  take(from, "max_isa", options.session.max_isa);
  take(from, "input_seed", options.session.seed);
  if (!from.empty()) throw Error("there is no option '" + from.begin().key() + "'", id);
  return options;
}

}  // namespace hone::passorder
