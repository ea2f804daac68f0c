#include "passorder/pass_env.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "base/rng.h"
#include "base/suggest.h"
#include "base/text.h"
#include "features/encoded.h"
#include "passorder/pass_observation.h"
#include "passorder/shaping.h"

namespace hone::passorder {
namespace {

struct Kind {
  const char* id;
  void (*set)(PassEnvOptions&);
};
constexpr Kind kKinds[] = {
    {"hone/XlaPassOrder-v0", [](PassEnvOptions&) {}},
    {"hone/XlaPassOrderShaped-v0", [](PassEnvOptions& o) { o.shaping = true; }},
    {"hone/XlaPassOrderCosts-v0", [](PassEnvOptions& o) { o.costs = true; }},
    {"hone/XlaPassOrderGraph-v0", [](PassEnvOptions& o) { o.graph = true; }},
    {"hone/XlaPassOrderActionHistory-v0", [](PassEnvOptions& o) { o.action_history = o.log_counts = true; }},
    {"hone/XlaPassOrderChangeHistory-v0",
     [](PassEnvOptions& o) { o.action_history = o.change_history = o.log_counts = true; }},
    {"hone/XlaPassOrderPredictedTime-v0", [](PassEnvOptions& o) { o.predicted_time = true; }},
    {"hone/XlaPassOrderRunTime-v0", [](PassEnvOptions& o) { o.run_time = true; }},
};
constexpr const char* kStateFormat = "hone-gym-state-1";
constexpr double kEqualPredictions = 1e-6;
constexpr const char* kActionHistory = "hone/XlaPassOrderActionHistory-v0";
constexpr const char* kActionHistoryBefore = "hone/XlaPassOrderTaken-v0";  // its name before 0.2

// "dir/bert.mlir.gz" -> "bert"
std::string name_of(const std::string& path) {
  const std::string file = std::filesystem::path(path).filename().string();
  return file.substr(0, file.find('.'));
}

// One name per program, each of one file only: where those of several files are equal, the paths.
std::vector<std::string> names_of(const std::vector<std::string>& paths) {
  std::map<std::string, std::set<std::string>> files;
  for (const std::string& path : paths) files[name_of(path)].insert(path);
  std::vector<std::string> names;
  for (const std::string& path : paths) names.push_back(files[name_of(path)].size() == 1 ? name_of(path) : path);
  return names;
}

}  // namespace

void PassEnvOptions::validate() const {
  if (programs.empty()) throw Error("no programs to choose from", "programs", "name one file at least");
  if (traj_limit < 1) throw Error(fmt::format("an episode of {} actions", traj_limit), "traj_limit", "at least 1");
  if (!(gamma > 0 && gamma <= 1)) throw Error(fmt::format("a discount of {}", gamma), "gamma", "above 0, at most 1");
  if (!(reward_scale > 0)) throw Error(fmt::format("a scale of {}", reward_scale), "reward_scale", "above 0");
  if (!(shaping_scale >= 0)) throw Error(fmt::format("a scale of {}", shaping_scale), "shaping_scale", "0 or more");
  if (!(failure_penalty >= 0))
    throw Error(fmt::format("a penalty of {}", failure_penalty), "failure_penalty", "0 or more");
  if (!(measure_ms > 0)) throw Error(fmt::format("{} ms to measure", measure_ms), "measure_ms", "above 0");
  if (run_time && predicted_time)
    throw Error("measured and predicted run times are two rewards", "predicted_time", "choose one of them");
}

PassEnv::PassEnv(PassEnvOptions options) : options_(std::move(options)) {
  options_.validate();
  for (const std::string& program : options_.programs)
    if (!std::filesystem::is_regular_file(program)) throw Error("there is no such program", program);
  names_ = names_of(options_.programs);
  options_.session.costs = options_.costs || options_.shaping || options_.info_costs;
  session_ = std::make_shared<PassSession>(options_.session);
  for (const std::string& pass : options_.passes) session_->check_pass(pass);
  if (options_.passes.empty()) options_.passes = session_->default_passes();
  if (options_.predicted_time) predicted_ = std::make_shared<PredictedTimes>(*session_, options_.models);
  spec_.id = options_.id;
  spec_.actions = static_cast<int64_t>(options_.passes.size());
  view_ = view_of(options_);
  spec_.observation_width = view_.width();
  spec_.cost_width = options_.costs ? kCostWidth : 0;
  spec_.node_width = options_.graph ? features::node_feature_count() : 0;
}

Observation PassEnv::reset(uint64_t seed, const ResetOptions& options) {
  Rng rng(seed);
  size_t index = static_cast<size_t>(rng.below(static_cast<int64_t>(options_.programs.size())));
  if (!options.program.empty()) {
    const auto by_name = std::find(names_.begin(), names_.end(), options.program);
    const auto by_path = std::find(options_.programs.begin(), options_.programs.end(), options.program);
    if (by_path != options_.programs.end())
      index = static_cast<size_t>(by_path - options_.programs.begin());
    else if (by_name != names_.end())
      index = static_cast<size_t>(by_name - names_.begin());
    else
      throw Error("no program '" + options.program + "' in this environment", "program", "give one of `programs`");
  }
  program_ = session_->load_file(options_.programs[index]);
  name_ = names_[index];
  initial_ = state_ = session_->initial(program_);
  history_.clear();
  taken_.clear();
  reached_.clear();
  seen_.clear();
  seen_[state_->fingerprint].resize(options_.passes.size());
  idle_.clear();
  done_ = revisited_ = false;
  last_ = {};
  duel_ = {};
  if (predicted_) predict_initial();
  return observe();
}

void PassEnv::predict_initial() {
  const PredictedTime time = predicted_->of(program_, *initial_, {});
  if (!(time.ns > 0)) throw Error("no run time can be predicted: " + time.error, name_, "choose another program");
  initial_ns_ = now_ns_ = time.ns;
}

// Sets the step's error if there is no prediction.
double PassEnv::predicted_reward(Step& step) {
  if (!last_.changed) return 0;
  const PredictedTime time = predicted_->of(program_, *state_, history_);
  if (!(time.ns > 0)) {
    step.error = last_.error = time.error;
    return 0;
  }
  return options_.reward_scale * std::log(std::exchange(now_ns_, time.ns) / time.ns);
}

Observation PassEnv::observe() const {
  return passorder::observe(*session_, program_, *initial_, *state_, history_, seen_.at(state_->fingerprint), view_);
}

double PassEnv::reward_of(const PassState& before, const PassState& after) const {
  if (options_.run_time || options_.predicted_time) return 0;
  double reward = options_.reward_scale * static_cast<double>(before.instructions - after.instructions) /
                  static_cast<double>(std::max<int64_t>(1, initial_->instructions));
  if (options_.shaping) {
    const double unit = std::max(1.0, initial_->cost());
    const auto potential = [&](const PassState& s) { return -options_.shaping_scale * s.cost() / unit; };
    reward += shaping_reward(potential(before), potential(after), options_.gamma, /*terminated=*/false);
  }
  return reward;
}

double PassEnv::final_reward() {
  duel_ = session_->measure(program_, history_, options_.measure_ms);
  return options_.reward_scale * (duel_.verified && duel_.ratio > 0 ? std::log(duel_.ratio) : -1.0);
}

Step PassEnv::step(int64_t action) {
  if (action < 0 || action >= spec_.actions)
    throw Error(fmt::format("action {} is out of range", action), "action", fmt::format("0 to {}", spec_.actions - 1));
  if (done_) throw InternalError("the episode has ended: reset first");
  const PassStatePtr before = state_;
  seen_.at(state_->fingerprint)[action] = true;
  last_ = session_->step(program_, state_, history_, options_.passes[action]);
  state_ = last_.state;
  taken_.push_back(action);
  reached_.push_back({options_.passes[action], state_->instructions, state_->fingerprint});
  const bool first = seen_.try_emplace(state_->fingerprint, options_.passes.size()).second;
  revisited_ = last_.changed && !first;
  if (last_.changed)
    history_.push_back(options_.passes[action]);
  else
    idle_.try_emplace(before->fingerprint, options_.passes.size()).first->second[action] = true;
  Step step;
  step.error = last_.error;
  step.reward = predicted_ ? predicted_reward(step) : reward_of(*before, *state_);
  if (!step.error.empty()) step.reward -= options_.reward_scale * options_.failure_penalty;
  if (static_cast<int64_t>(taken_.size()) >= options_.traj_limit) {
    done_ = true;
    (options_.run_time ? step.terminated : step.truncated) = true;
    if (options_.run_time) {
      step.reward += final_reward();
      if (step.error.empty()) step.error = duel_.error;
    }
  }
  step.observation = observe();
  return step;
}

std::vector<bool> PassEnv::action_mask() const {
  std::vector<bool> mask(options_.passes.size(), true);
  if (!state_) return mask;
  const auto idle = idle_.find(state_->fingerprint);
  for (size_t action = 0; action < mask.size(); ++action) {
    if (options_.probe_masks)
      mask[action] = session_->step(program_, state_, history_, options_.passes[action]).changed;
    else if (idle != idle_.end())
      mask[action] = !idle->second[action];
  }
  if (std::find(mask.begin(), mask.end(), true) == mask.end()) mask.assign(mask.size(), true);
  return mask;
}

nlohmann::json PassEnv::info() const {
  if (!state_) return nlohmann::json::object();
  const PassStatePtr costed = session_->with_costs(program_, state_, history_);
  nlohmann::json opcodes = nlohmann::json::object(), passes = nlohmann::json::array();
  for (int number = 0; number < features::kOpcodeCount; ++number)
    if (state_->counts[number] > 0)
      opcodes[std::string(features::opcode_name(number))] = static_cast<int64_t>(state_->counts[number]);
  for (const int64_t action : taken_) passes.push_back(options_.passes[action]);
  nlohmann::json info = {{"program", name_},
                         {"instructions", state_->instructions},
                         {"initial_instructions", initial_->instructions},
                         {"opcodes", opcodes},
                         {"flops", costed->flops},
                         {"transcendentals", costed->transcendentals},
                         {"bytes", costed->bytes},
                         {"passes", passes},
                         {"changing_passes", history_},
                         {"changed", last_.changed},
                         {"revisited", revisited_},
                         {"pass_ms", last_.ms},
                         {"fingerprint", state_->fingerprint}};
  const std::string& error = last_.error.empty() ? duel_.error : last_.error;
  if (!error.empty()) info["error"] = error;
  if (predicted_) info["predicted_time"] = predicted_time();
  if (duel_.baseline_ns > 0)
    info["run_time"] = {{"initial_ns", duel_.baseline_ns},
                        {"ns", duel_.candidate_ns},
                        {"ratio", duel_.ratio},
                        {"interval", {duel_.ratio_low, duel_.ratio_high}},
                        {"verified", duel_.verified}};
  return info;
}

nlohmann::json PassEnv::predicted_time() const { return {{"initial_ns", initial_ns_}, {"ns", now_ns_}}; }

nlohmann::json PassEnv::save() const {
  if (!state_) throw Error("no episode has begun", "", "reset first");
  nlohmann::json passes = nlohmann::json::array();
  for (const int64_t action : taken_) passes.push_back(options_.passes[action]);
  nlohmann::json state = {
      {"format", kStateFormat}, {"program", name_}, {"passes", passes}, {"fingerprint", state_->fingerprint}};
  if (predicted_) state["predicted_time"] = predicted_time();
  return state;
}

Observation PassEnv::restore(const nlohmann::json& state) {
  if (!state.is_object() || state.value("format", nlohmann::json()) != kStateFormat)
    throw Error("not a saved state of this environment", "format", kStateFormat);
  std::vector<int64_t> actions;
  std::string program, fingerprint;
  try {
    program = state.at("program");
    fingerprint = state.at("fingerprint");
    for (const std::string pass : state.at("passes")) {
      const auto found = std::find(options_.passes.begin(), options_.passes.end(), pass);
      if (found == options_.passes.end()) throw Error("the state's pass '" + pass + "' is no action here", "passes");
      actions.push_back(found - options_.passes.begin());
    }
  } catch (const nlohmann::json::exception& e) {
    throw Error(std::string("not a saved state of this environment: ") + e.what());
  }
  if (static_cast<int64_t>(actions.size()) > options_.traj_limit)
    throw Error("the episode of the state is longer than those here", "traj_limit");
  Observation observation = reset(0, {program});
  for (const int64_t action : actions) observation = step(action).observation;
  if (state_->fingerprint != fingerprint) throw Error("the passes of the state lead to another program here", program);
  if (predicted_) check_predicted_time(state.value("predicted_time", nlohmann::json()), predicted_time());
  return observation;
}

Episode PassEnv::episode() const {
  if (!state_) throw Error("no episode has begun", "", "reset first");
  const auto place = static_cast<size_t>(std::find(names_.begin(), names_.end(), name_) - names_.begin());
  const std::string& path = options_.programs.at(place);
  return {path, session_->file_sha256(path), initial_->instructions, reached_, options_.session.step_limit_s};
}

std::string PassEnv::render() const {
  if (!state_) return "no episode has begun";
  std::string text =
      fmt::format("{}  step {}/{}  {} -> {} instructions, {:.4g} -> {:.4g} FLOPs + 2 transcendentals", name_,
                  taken_.size(), options_.traj_limit, initial_->instructions, state_->instructions, initial_->cost(),
                  session_->with_costs(program_, state_, history_)->cost());
  if (taken_.empty()) return text;
  const std::string& pass = options_.passes[taken_.back()];
  if (!last_.error.empty()) return text + "\n  " + pass + " failed: " + last_.error;
  return text + "\n  " + pass +
         (last_.changed ? (revisited_ ? ": changed, to a state seen before" : ": changed") : ": no change");
}

std::unique_ptr<Environment> PassEnv::clone() const { return std::unique_ptr<Environment>(new PassEnv(*this)); }

PassView view_of(const PassEnvOptions& options) {
  PassView view(options.passes);
  view.graph = options.graph;
  view.costs = options.costs;
  view.log_counts = options.log_counts;
  view.action_history = options.action_history;
  view.change_history = options.change_history;
  return view;
}

void check_predicted_time(const nlohmann::json& saved, const nlohmann::json& restored) {
  if (saved.is_null() || restored.is_null()) return;
  // Of the untouched program alone: a later state's time is that of the last one that could be predicted, which a slow machine changes.
  constexpr char kMoment[] = "initial_ns";
  if (!saved.is_object() || !saved.contains(kMoment) || !saved.at(kMoment).is_number())
    throw Error("not a saved state of this environment", "predicted_time");
  const double before = saved.at(kMoment), now = restored.at(kMoment);
  if (std::abs(now - before) > kEqualPredictions * std::abs(before))
    throw Error(fmt::format("the state was saved with another model: {:g} ns were predicted, now {:g}", before, now),
                "predicted_time", "restore it with the same models, on such a machine");
}

PassEnvOptions pass_env_options(const std::string& name) {
  const std::string id = name == kActionHistoryBefore ? kActionHistory : name;
  for (const Kind& kind : kKinds) {
    if (id != kind.id) continue;
    PassEnvOptions options;
    options.id = id;
    kind.set(options);
    return options;
  }
  throw unknown_word("environment", id, pass_env_ids(), "--environment");
}

std::vector<std::string> pass_env_ids() {
  std::vector<std::string> ids;
  for (const Kind& kind : kKinds) ids.emplace_back(kind.id);
  return ids;
}

}  // namespace hone::passorder
