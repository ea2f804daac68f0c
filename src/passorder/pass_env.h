// XLA Gym (Ganai et al. 2022, section 4.1): ordering XLA's passes as a decision process. The state is a program and the
// passes so far; an action is a pass; the reward is the reduction of the program's instructions by the pass.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "passorder/environment.h"
#include "passorder/episode.h"
#include "passorder/pass_observation.h"
#include "passorder/pass_session.h"
#include "passorder/predicted_time.h"

namespace hone::passorder {

struct PassEnvOptions {
  std::string id = "hone/XlaPassOrder-v0";
  std::vector<std::string> programs;  // files; chosen by the seed of an episode
  std::vector<std::string> passes;    // the actions; empty = the default action set
  int64_t traj_limit = 45;            // actions until an episode is truncated
  // Base reward: reward_scale * (n - n') / n0, n the number of instructions, n0 that of the untouched program.
  double reward_scale = 1;
  // Adds F = gamma phi(s') - phi(s), phi(s) = -shaping_scale (FLOPs + 2 transcendentals) / those of the untouched program.
  bool shaping = false;
  double gamma = 0.99, shaping_scale = 1;
  bool costs = false;  // Observation::costs, for the value function only
  // Each step brings the costs that info shows; else info asks for them, in a message of its own.
  bool info_costs = false;
  bool graph = false;       // Observation::graph instead of values
  bool log_counts = false;  // values are log(1 + count)
  // values end with one number per action, 1 if it was taken in this state before. Most such actions do nothing again, which
  // the counts do not show.
  bool action_history = false;
  bool change_history = false;  // values end with what changed the program, and when (PassView)
  // Instead of the above, one reward at the end of the episode, which is then terminated: reward_scale * ln(run time of the
  // untouched program / run time now), or -reward_scale if the program does not run or its outputs differ.
  bool run_time = false;
  // Instead of the base reward: reward_scale * ln(predicted run time before / after) of each step, by the model of kernels in the
  // folder `models` or the shipped one (predicted_time.h). A state that XLA cannot compile counts as the last that it could, and
  // costs the penalty.
  bool predicted_time = false;
  std::string models;
  double measure_ms = 200;
  double failure_penalty = 0.1;  // of a failed action, times reward_scale
  // The mask of actions has the effect of every pass, which is found by running those that were not run on a state yet.
  // Otherwise only actions of this episode that changed nothing are masked, which costs nothing.
  bool probe_masks = false;
  PassSessionOptions session;

  void validate() const;  // throws Error
};

// Observation::values, [135]: instructions by opcode (features::opcode_number), then [actions] with
// `action_history` and [2 actions + 2] with `change_history`. Observation::costs, [6]: log(1 + x) of FLOPs,
// transcendentals and bytes, then each divided by that of the untouched program.
class PassEnv : public Environment {
 public:
  // Throws Error for options that do not fit, unknown passes and missing files.
  explicit PassEnv(PassEnvOptions options);

  const EnvironmentSpec& spec() const override { return spec_; }
  Observation reset(uint64_t seed, const ResetOptions& options = {}) override;
  Step step(int64_t action) override;
  nlohmann::json info() const override;
  std::string render() const override;
  std::unique_ptr<Environment> clone() const override;  // shares the worker and the known steps
  std::vector<bool> action_mask() const override;

  // The episode as an object for JSON: {"format": "hone-gym-state-1", "program", "passes", "fingerprint"}, and where predicted run
  // times are the reward "predicted_time". Throws Error if none has begun.
  nlohmann::json save() const;
  // Continues from it, also in another process, by replaying the passes. Throws Error, which may leave another episode begun, for
  // an object that is no such state, unknown programs and passes, and where the passes lead to another program or the model to
  // other run times.
  Observation restore(const nlohmann::json& state);
  Episode episode() const;  // so far; throws Error if none has begun

  const std::vector<std::string>& actions() const { return options_.passes; }
  const std::vector<std::string>& programs() const { return names_; }
  const PassState& state() const { return *state_; }
  const PassHistory& history() const { return history_; }  // the passes that changed something
  PassSession& session() const { return *session_; }

 private:
  PassEnv(const PassEnv&) = default;
  Observation observe() const;
  double reward_of(const PassState& before, const PassState& after) const;
  double final_reward();
  void predict_initial();
  double predicted_reward(Step& step);
  nlohmann::json predicted_time() const;  // initial_ns, ns

  PassEnvOptions options_;
  EnvironmentSpec spec_;
  PassView view_;
  std::shared_ptr<PassSession> session_;
  std::shared_ptr<PredictedTimes> predicted_;  // null unless it is the reward
  // Of the programs: file names without folder and extensions; the paths where those of several files are equal.
  std::vector<std::string> names_;

  std::string name_, program_;  // of the episode; program_ is the session's key
  PassStatePtr initial_, state_;
  PassHistory history_;
  std::vector<int64_t> taken_;          // every action of the episode
  std::vector<EpisodeStep> reached_;    // what each left
  double initial_ns_ = 0, now_ns_ = 0;  // predicted run times
  std::unordered_map<std::string, std::vector<bool>>
      seen_;  // states of the episode by fingerprint: the actions taken there
  std::unordered_map<std::string, std::vector<bool>> idle_;  // those of them that changed nothing
  bool done_ = true, revisited_ = false;
  PassStep last_;
  PassDuel duel_;
};

// Compares the predicted run times of a saved state with those of the restored one, both as `predicted_time` of an environment's
// info; one that is missing fits all. Throws Error where they differ: another model, or another machine that it predicts for.
void check_predicted_time(const nlohmann::json& saved, const nlohmann::json& restored);

// The environments by id: XlaPassOrder-v0, XlaPassOrderShaped-v0, XlaPassOrderCosts-v0, XlaPassOrderGraph-v0,
// XlaPassOrderActionHistory-v0, XlaPassOrderChangeHistory-v0, XlaPassOrderPredictedTime-v0 and XlaPassOrderRunTime-v0, all with the
// prefix "hone/"; XlaPassOrderTaken-v0, the name of XlaPassOrderActionHistory-v0 before 0.2. Throws Error for other ids.
PassEnvOptions pass_env_options(const std::string& name);
PassView view_of(const PassEnvOptions& options);  // what an environment with these options shows; the passes are named
std::vector<std::string> pass_env_ids();

}  // namespace hone::passorder
