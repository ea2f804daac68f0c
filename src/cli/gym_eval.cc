// hone gym eval: how many instructions a policy or a search removes from programs, compared with XLA's own order.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "cli/gym.h"
#include "passorder/order_trial.h"

namespace hone::cli {

namespace {

using nlohmann::json;

struct GymEvalCommand {
  std::vector<std::string> programs;
  std::vector<std::string> policies, strategies;
  std::string models;
  passorder::OrderTrialOptions options;
  int threads = 1;
  std::string max_isa;
  std::shared_ptr<OutputOptions> output;
};

json duel_json(const passorder::PassDuel& duel) {
  return {{"verified", duel.verified},
          {"speedup", duel.ratio},
          {"speedup_interval", {duel.ratio_low, duel.ratio_high}},
          {"run_ns", duel.candidate_ns},
          {"note", duel.error}};
}

json trial_json(const passorder::OrderTrial& trial, bool measured) {
  json row = {{"initial", trial.initial},
              {"default", trial.own},
              {"pre_layout", trial.pre_layout},
              {"first", trial.first},
              {"best", trial.best.state->instructions},
              {"best_pre_layout", trial.best_pre_layout},
              {"applications", trial.applications},
              {"passes", trial.best.passes}};
  // There is no ratio where XLA's own order removes nothing.
  for (const auto& [name, left] :
       {std::pair("first_ratio", trial.first), std::pair("best_ratio", trial.best.state->instructions)}) {
    const bool defined = trial.own < trial.initial;
    row[name] = defined ? json(passorder::reduction_ratio(trial.initial, trial.own, left)) : json(nullptr);
  }
  if (measured) {
    row["default_run"] = duel_json(trial.own_duel);
    row["best_run"] = duel_json(trial.best_duel);
  }
  return row;
}

// "dir/bert.mlir.gz" -> "bert"
std::string name_of(const std::string& path) {
  const std::string file = std::filesystem::path(path).filename().string();
  return file.substr(0, file.find('.'));
}

// A policy, or a search without a policy.
struct Rival {
  std::string name, strategy;  // name: path or strategy
  std::unique_ptr<passorder::OrderPolicy> policy;
};

std::vector<Rival> rivals_of(const GymEvalCommand& command, passorder::PassSession& session) {
  std::vector<std::string> policies = command.policies;
  if (policies.empty() && command.strategies.empty()) {
    policies = {passorder::shipped_order_policy(command.models)};
    if (policies.front().empty())
      throw Error("no policy comes with this build", "--policy-file", "give one of `hone gym train`");
  }
  std::vector<Rival> rivals;
  for (const std::string& path : policies)
    rivals.push_back({path, "ppo", std::make_unique<passorder::OrderPolicy>(path, session)});
  for (const std::string& strategy : command.strategies) {
    passorder::OrderTrialOptions options = command.options;
    options.strategy = strategy;
    options.validate();
    if (strategy == "ppo") throw Error("ppo is a policy", "--strategy", "give it as --policy-file FILE");
    rivals.push_back({strategy, strategy, nullptr});
  }
  return rivals;
}

json try_program(passorder::PassSession& session, const std::string& path, passorder::OrderTrialOptions options,
                 const Rival& rival) {
  json row = {{"program", name_of(path)}, {"by", rival.name}};
  options.strategy = rival.strategy;
  try {
    const std::string program = session.load_file(path);
    row.update(trial_json(passorder::try_order(session, program, options, rival.policy.get()), options.measure_ms > 0));
  } catch (const RunError& failed) {  // only this program failed
    row["error"] = failed.what();
  }
  return row;
}

// Geometric mean of a rival's ratio over all programs that have one; null without any.
json mean_of(const json& rows, const std::string& rival, const char* ratio) {
  double logs = 0;
  int64_t count = 0;
  for (const json& row : rows) {
    if (row.at("by") != rival || !row.contains(ratio) || row[ratio].is_null()) continue;
    logs += std::log(row[ratio].get<double>());
    ++count;
  }
  return count > 0 ? json(std::exp(logs / static_cast<double>(count))) : json(nullptr);
}

json means_of(const json& rows, const std::vector<Rival>& rivals) {
  json means = json::array();
  for (const Rival& rival : rivals)
    means.push_back({{"by", rival.name},
                     {"first_ratio", mean_of(rows, rival.name, "first_ratio")},
                     {"best_ratio", mean_of(rows, rival.name, "best_ratio")}});
  return means;
}

std::string text_of(const json& ratio) { return ratio.is_null() ? "-" : fmt::format("{:.3f}", ratio.get<double>()); }

void print_rows(const json& result) {
  fmt::print("{:<24} {:<24} {:>7} {:>7} {:>7} {:>7} {:>7}\n", "program", "by", "initial", "default", "first", "best",
             "ratio");
  for (const json& row : result.at("programs")) {
    const std::string program = row.at("program"), by = std::filesystem::path(row.at("by").get<std::string>()).stem();
    if (row.contains("error"))
      fmt::print("{:<24} {:<24} {}\n", program, by, row.at("error").get<std::string>());
    else
      fmt::print("{:<24} {:<24} {:>7} {:>7} {:>7} {:>7} {:>7}\n", program, by, row.at("initial").get<int64_t>(),
                 row.at("default").get<int64_t>(), row.at("first").get<int64_t>(), row.at("best").get<int64_t>(),
                 text_of(row.at("best_ratio")));
  }
  fmt::print("geometric mean of (initial - left) / (initial - default), first and best walk:\n");
  for (const json& mean : result.at("means"))
    fmt::print("  {:<48} {:>7} {:>7}\n", mean.at("by").get<std::string>(), text_of(mean.at("first_ratio")),
               text_of(mean.at("best_ratio")));
}

int run_gym_eval(const GymEvalCommand& command) {
  passorder::OrderTrialOptions options = command.options;
  options.validate();
  for (const std::string& program : command.programs)
    if (!std::filesystem::is_regular_file(program)) throw Error("there is no such program", program);
  passorder::PassSessionOptions session_options;
  session_options.threads = command.threads;
  session_options.seed = options.seed;
  session_options.max_isa = command.max_isa;
  session_options.costs = false;
  passorder::PassSession session(session_options);
  const std::vector<Rival> rivals = rivals_of(command, session);
  ProgressOptions shown;
  shown.total = static_cast<double>(command.programs.size() * rivals.size());
  shown.quiet = command.output->quiet;
  Progress progress("ordering", shown);
  options.should_stop = interrupted;
  json rows = json::array();
  for (const std::string& path : command.programs)
    for (const Rival& rival : rivals) {
      if (interrupted()) break;
      const json row = try_program(session, path, options, rival);
      if (interrupted()) break;  // an interrupted search cannot be compared
      rows.push_back(row);
      progress.update(static_cast<double>(rows.size()), name_of(path));
    }
  progress.finish();
  const json result = {{"start", options.start}, {"walks", options.walks},       {"length", options.length},
                       {"seed", options.seed},   {"interrupted", interrupted()}, {"means", means_of(rows, rivals)},
                       {"programs", rows}};
  if (command.output->json)
    print(result);
  else
    print_rows(result);
  return 0;
}

}  // namespace

Runner declare_gym_eval(CLI::App& app) {
  const auto c = std::make_shared<GymEvalCommand>();
  app.add_option("PROGRAM", c->programs, "programs; each is ordered by itself")->required()->type_name("");
  app.add_option(kPolicyFile, c->policies,
                 "policy of hone gym train; may be given several times (default: the one that comes with hone)")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option(
         "--strategy", c->strategies,
         "search to compare with: random or greedy; or beam, anneal or genetic, which begin with XLA's own order; may "
         "be given several times")
      ->allow_extra_args(false)
      ->check(one_of({"random", "greedy", "beam", "anneal", "genetic"}));
  app.add_option(
         "--start", c->options.start,
         "where walks start: untouched (the program as it is), default (after XLA's own order) or both (default "
         "untouched)")
      ->check(one_of({"untouched", "default", "both"}));
  app.add_option("--walks", c->options.walks, "orders to try; the first is the policy's best guess (default 10)");
  app.add_option("--length", c->options.length, "passes run in one walk (default 45)");
  app.add_option("--seed", c->options.seed, "seed for the draws (default 0)");
  app.add_option("--measure-ms", c->options.measure_ms,
                 "time, in ms, for running each result as well (default 0: not run)")
      ->type_name("MS");
  app.add_option("--threads", c->threads, "threads of a measured run (default 1)")->check(within(1, 1024));
  add_max_isa_option(app, c->max_isa);
  add_models_option(app, c->models);
  c->output = add_output_options(app);
  return [c] { return run_gym_eval(*c); };
}

}  // namespace hone::cli
