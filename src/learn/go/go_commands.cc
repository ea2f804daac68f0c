#include "learn/go/go_commands.h"

#include <ATen/Parallel.h>

#include <cstdio>
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/progress.h"
#include "go/go_place.h"
#include "learn/go/go_run.h"
#include "learn/nets/trained.h"
#include "sim/task_graph_json.h"

namespace hone::learn {

namespace {

using go::evaluation;
using go::problem_of;
using go::seconds_json;

std::string text(const nlohmann::json& request, const char* name) { return request.value(name, std::string()); }

std::string note_of(const GoScalars& scalars) {
  double reward = 0, best = 0;
  for (const auto& [name, value] : scalars) {
    if (name == "episode/reward") reward = value;
    if (name == "episode/best_over_start") best = value;
  }
  char note[80];
  std::snprintf(note, sizeof(note), "reward %.4f, best %.4f of the start", reward, best);
  return note;
}

// The progress line of a training run. A resumed run starts at its checkpoint; only the rest counts for the speed.
class RunLine {
 public:
  RunLine(std::string label, int64_t iterations, bool quiet)
      : label_(std::move(label)), iterations_(iterations), quiet_(quiet) {}
  void operator()(int64_t iteration, const GoScalars& scalars) {
    if (!line_) {
      begin_ = iteration - 1;
      ProgressOptions shown;
      shown.total = static_cast<double>(iterations_ - begin_);
      shown.quiet = quiet_;
      line_.emplace(label_, shown);
    }
    line_->update(static_cast<double>(iteration - begin_), note_of(scalars));
  }
  void finish() { line_.reset(); }

 private:
  std::string label_;
  int64_t iterations_ = 0, begin_ = 0;
  bool quiet_ = false;
  std::optional<hone::Progress> line_;
};

nlohmann::json gains_json(const std::vector<GoGain>& gains) {
  nlohmann::json rows = nlohmann::json::array();
  for (const GoGain& gain : gains)
    rows.push_back({{"problem", gain.problem},
                    {"iteration", gain.iteration},
                    {"simulations", gain.simulations},
                    {"elapsed_seconds", gain.seconds},
                    {"cpu_seconds", gain.cpu_seconds},
                    {"step_seconds", gain.step_seconds}});
  return rows;
}

}  // namespace

nlohmann::json run_go_train(const nlohmann::json& request, const cost::LearnHost& host) {
  const GoTrainOptions options =
      options::go_train_options_from_json(request.value("training", nlohmann::json::object()));
  const std::string from = text(request, "from"), out = text(request, "out");
  at::set_num_threads(options.threads);
  std::shared_ptr<GoPolicy> policy =
      from.empty() ? std::make_shared<GoPolicy>(
                         options::go_options_from_json(request.value("policy", nlohmann::json::object())), options.seed)
                   : load_go_policy(from);
  TorchScorer scorer(*policy);
  const bool quiet = request.value("quiet", false);
  std::vector<GoProblem> problems;
  nlohmann::json rows = nlohmann::json::array();
  const int64_t samples = request.value("samples", int64_t{0});
  for (const nlohmann::json& json : request.at("problems")) {
    problems.push_back(problem_of(json, policy->options));
    GoProblem& problem = problems.back();
    const GoActions best = problem.best;
    nlohmann::json row = {{"name", problem.name},
                          {"nodes", problem.graph.nodes},
                          {"devices", problem.graph.devices},
                          {"start", problem.start_name},
                          {"start_seconds", seconds_json(problem.start_seconds)}};
    row["before"] = evaluation(scorer, problem, samples, options.seed);
    problem.best = best;  // training finds its own
    problem.best_seconds = problem.start_seconds;
    problem.simulations = 0;
    rows.push_back(std::move(row));
  }
  const GoFiles files{text(request, "checkpoint"), request.value("checkpoint_every", int64_t{50}),
                      request.value("resume", false), text(request, "log_dir")};
  RunLine line("train go", options.iterations, quiet);
  const GoRunReport report = train_go(
      policy, problems, options, files, [&] { return host.interrupted && host.interrupted(); }, std::ref(line));
  line.finish();
  if (!out.empty()) save_go_policy(out, *policy, {text(request, "command"), options.seed, report.iterations, "{}"});
  for (size_t i = 0; i < problems.size(); ++i) {
    rows[i]["best_seconds"] = seconds_json(problems[i].best_seconds);
    rows[i]["simulations"] = problems[i].simulations;
    if (request.value("plans", false))
      rows[i]["plan"] = sim::plan_to_json(plan_of(problems[i], problems[i].best, policy->options));
    rows[i]["after"] = evaluation(scorer, problems[i], samples, options.seed);
  }
  return {{"problems", rows},
          {"gains", gains_json(report.gains)},
          {"seed", options.seed},
          {"iterations", report.iterations},
          {"seconds", report.seconds},
          {"interrupted", report.interrupted},
          {"log", report.event_file},
          {"policy", to_json(policy->options)},
          {"output", out},
          {"peak_memory_bytes", go::peak_memory_bytes()}};
}

nlohmann::json run_go_place(const nlohmann::json& request, const cost::LearnHost& host) {
  const GoTrainOptions options =
      options::go_train_options_from_json(request.value("training", nlohmann::json::object()));
  at::set_num_threads(request.value("threads", options.threads));
  return go::place_by_policy(request, [&](go::GoPolicyFile& file, std::vector<GoProblem>& problems) {
    const std::shared_ptr<GoPolicy> policy = policy_from(file);
    RunLine line("place go", options.iterations, request.value("quiet", false));
    const GoRunReport report =
        train_go(policy, problems, options, {}, [&] { return host.interrupted && host.interrupted(); }, std::ref(line));
    put_parameters(*policy, "", file.weights);
    return go::GoTrained{report.iterations, report.interrupted};
  });
}

}  // namespace hone::learn
