#include "learn/go/go_commands.h"

#include <ATen/Parallel.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/text.h"
#include "learn/go/go_evaluation.h"
#include "learn/go/go_run.h"
#include "sim/task_graph_json.h"

namespace hone::learn {

namespace {

using options::kGoTasks;

std::string text(const nlohmann::json& request, const char* name) { return request.value(name, std::string()); }

// JSON has no infinity: null means that the plan does not fit into memory.
nlohmann::json seconds_json(double seconds) {
  return std::isfinite(seconds) ? nlohmann::json(seconds) : nlohmann::json();
}

GoProblem problem_of(const nlohmann::json& json, const options::GoOptions& options) {
  sim::Costs costs{json.value("factor", std::vector<double>())};
  sim::Simulator simulator(sim::graph_from_json(json.at("graph")), sim::topology_from_json(json.at("topology")),
                           std::move(costs));
  GoProblem problem =
      make_go_problem(std::move(simulator), options, json.value("default_fusion", std::vector<int32_t>()),
                      json.value("start", std::string("best")), json.value("tasks", std::vector<std::string>()));
  if (const std::string name = text(json, "name"); !name.empty()) problem.name = name;
  return problem;
}

// Runs one evaluation; returns its times and the step times found.
nlohmann::json evaluation(GoPolicy& policy, GoProblem& problem, int64_t samples, uint64_t seed) {
  Rng rng(seed);
  const double begin_s = steady_s(), begin_cpu_s = cpu_s();
  const std::vector<double> seconds = evaluate(policy, problem, samples, rng);
  return {{"step_seconds", seconds_json(seconds.back())},
          {"first_step_seconds", seconds_json(seconds.front())},
          {"elapsed_seconds", steady_s() - begin_s},
          {"cpu_seconds", cpu_s() - begin_cpu_s}};
}

double peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

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

// What online use remembers of each graph: its decisions, keyed by a hash of the graph and what they depend on.
struct Memory {
  nlohmann::json known;
  std::string key;

  Memory(const std::string& stored, const nlohmann::json& problem, const options::GoOptions& options)
      : known(nlohmann::json::parse(stored, nullptr, false)),
        key(hash_hex(problem.at("graph").dump() + problem.at("topology").dump() +
                     problem.value("tasks", nlohmann::json()).dump() + to_json(options).dump())) {
    if (!known.is_object()) known = nlohmann::json::object();
  }
  void recall(GoProblem& problem, const options::GoOptions& options) const {
    const auto found = known.find(key);
    if (found == known.end()) return;
    const auto actions = found->get<GoActions>();
    for (int task = 0; task < kGoTasks; ++task)
      if (static_cast<int64_t>(actions[task].size()) != problem.graph.nodes) return;
    simulate(problem, actions, options);
  }
  void store(const GoProblem& problem) { known[key] = problem.best; }
};

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
    row["before"] = evaluation(*policy, problem, samples, options.seed);
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
    rows[i]["after"] = evaluation(*policy, problems[i], samples, options.seed);
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
          {"peak_memory_bytes", peak_memory_bytes()}};
}

nlohmann::json run_go_place(const nlohmann::json& request, const cost::LearnHost& host) {
  const GoTrainOptions options =
      options::go_train_options_from_json(request.value("training", nlohmann::json::object()));
  at::set_num_threads(request.value("threads", options.threads));
  const std::string online = text(request, "online");
  const bool seen = !online.empty() && std::filesystem::exists(online);
  GoOrigin origin;
  const std::shared_ptr<GoPolicy> policy = load_go_policy(seen ? online : text(request, "policy"), &origin);
  const nlohmann::json& json = request.at("problem");
  std::vector<GoProblem> problems;
  problems.push_back(problem_of(json, policy->options));
  GoProblem& problem = problems.front();
  Memory memory(origin.known, json, policy->options);
  if (seen) memory.recall(problem, policy->options);
  const double known_seconds = problem.best_seconds;
  const nlohmann::json first =
      evaluation(*policy, problem, request.value("samples", int64_t{16}), request.value("seed", options.seed));
  GoRunReport report;
  if (request.contains("training")) {
    RunLine line("place go", options.iterations, request.value("quiet", false));
    report =
        train_go(policy, problems, options, {}, [&] { return host.interrupted && host.interrupted(); }, std::ref(line));
  }
  if (!online.empty()) {
    memory.store(problem);
    origin.iterations += report.iterations;
    origin.known = memory.known.dump();
    save_go_policy(online, *policy, origin);
  }
  nlohmann::json finalists = nlohmann::json::array();
  if (request.value("finalists", false))
    for (const auto& [seconds, actions] : problem.finalists)
      finalists.push_back(
          {{"seconds", seconds}, {"plan", sim::plan_to_json(plan_of(problem, actions, policy->options))}});
  return {{"plan", sim::plan_to_json(plan_of(problem, problem.best, policy->options))},
          {"finalists", finalists},
          {"tasks", policy->options.tasks},
          {"seconds", seconds_json(problem.best_seconds)},
          {"start", problem.start_name},
          {"start_seconds", seconds_json(problem.start_seconds)},
          {"known_seconds", seconds_json(known_seconds)},
          {"evaluation", first},
          {"iterations", report.iterations},
          {"interrupted", report.interrupted},
          {"simulations", problem.simulations},
          {"peak_memory_bytes", peak_memory_bytes()}};
}

}  // namespace hone::learn
