// Scorers of moves (src/sim/move_scorer.h): rows to train one, and searches with it.
//   bench_moves collect OUT STEPS SEEDS WEIGHTS|- JOBS     appends rows of kMoveFeatures + 1 float32
//   bench_moves compare STEPS SEEDS JOBS [NAME=WEIGHTS|shipped|random,DRAWS,UNIFORM]...     prints JSON lines; with no name block moves
//   bench_moves anneal STEPS SEEDS JOBS HOT,COLD[,LARGEST,SINGLE]...     temperatures, and sizes of moves (MoveSizes)
//   bench_moves heuristics JOBS     one device, layer-wise, METIS and HEFT, without a search
// JOBS: a file of lines "GRAPH.json TOPOLOGY.toml TASKS copied|home". TASKS "fused-placement": devices alone, of a program
// that priority fusion has fused.
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "base/files.h"
#include "place/place_graph.h"
#include "sim/local_search.h"
#include "sim/strategies.h"

using namespace hone;

namespace {

struct Job {
  std::string graph, topology, tasks, parameters;
};

std::vector<Job> read_jobs(const char* path) {
  std::vector<Job> jobs;
  std::ifstream in(path);
  for (Job job; in >> job.graph >> job.topology >> job.tasks >> job.parameters;) jobs.push_back(job);
  return jobs;
}

std::vector<float> read_weights(const std::string& path) {
  std::vector<float> weights;
  std::ifstream in(path);
  for (float x = 0; in >> x;) weights.push_back(x);
  return weights;
}

sim::Simulator simulator_of(const Job& job) {
  return {place::read_task_graph(read_file(job.graph), job.graph),
          sim::load_topology(job.topology, ""),
          {},
          {},
          sim::parameters_from_name(job.parameters)};
}

sim::StrategyOptions options_of(const Job& job, sim::Simulator& simulator, int64_t steps, uint64_t seed) {
  const bool fused = job.tasks == "fused-placement";
  sim::StrategyOptions options;
  options.tasks = sim::parse_tasks(fused ? "placement,fusion" : job.tasks);
  options.steps = steps;
  options.seed = seed;
  if (fused) options.base.fusion = sim::strategy("priority-fusion").plan(simulator, options).fusion;
  options.tasks.fusion &= !fused;
  return options;
}

int collect(char** words) {
  std::FILE* out = std::fopen(words[0], "ab");
  const int64_t steps = std::atoll(words[1]), seeds = std::atoll(words[2]);
  const std::string weights = words[3];
  std::optional<sim::MoveScorer> scorer;
  if (weights != "-") scorer.emplace(read_weights(weights));
  for (const Job& job : read_jobs(words[4])) {
    sim::Simulator simulator = simulator_of(job);
    for (int64_t seed = 0; seed < seeds; ++seed) {
      sim::Proposer proposer{.scorer = scorer ? &*scorer : nullptr, .draws = 4, .uniform = 0.3};
      int64_t rows = 0;
      proposer.record = [&](const sim::MoveVector& move, double gain) {
        std::fwrite(move.data(), sizeof(float), move.size(), out);
        const auto label = static_cast<float>(gain);
        std::fwrite(&label, sizeof label, 1, out);
        ++rows;
      };
      sim::local_search(simulator, options_of(job, simulator, steps, 1000 + seed), {}, proposer);
      std::fflush(out);
      fmt::print("{} {} {} {}\n", std::filesystem::path(job.graph).stem().string(), job.tasks, seed, rows);
      std::fflush(stdout);
    }
  }
  return 0;
}

struct Searched {
  const Job& job;
  std::string name;
  int64_t steps;
  uint64_t seed;
};

void print_row(const Searched& what, double seconds, double cpu, const std::string& gains) {
  fmt::print(
      "{{\"graph\":\"{}\",\"topology\":\"{}\",\"tasks\":\"{}\",\"row\":\"{}\",\"seed\":{},\"steps\":{},\"seconds\":"
      "{:.9g},\"cpu\":{:.6g},\"gains\":[{}]}}\n",
      std::filesystem::path(what.job.graph).stem().string(), std::filesystem::path(what.job.topology).stem().string(),
      what.job.tasks, what.name, what.seed, what.steps, seconds, cpu, gains);
  std::fflush(stdout);
}

void search(const Searched& what, const sim::Temperatures& temperatures, const sim::Proposer& proposer) {
  sim::Simulator simulator = simulator_of(what.job);
  sim::StrategyOptions options = options_of(what.job, simulator, what.steps, what.seed);
  std::string gains;
  double known = std::numeric_limits<double>::infinity();
  const double begin = cpu_s();
  options.progress = [&](int64_t step, double best) {
    if (!(best < known)) return;
    known = best;
    gains += fmt::format("{}[{},{:.6g},{:.9g}]", gains.empty() ? "" : ",", step, cpu_s() - begin, best);
  };
  sim::local_search(simulator, options, temperatures, proposer);
  print_row(what, known, cpu_s() - begin, gains);
}

int compare(int count, char** words) {
  const int64_t steps = std::atoll(words[0]), seeds = std::atoll(words[1]);
  for (const Job& job : read_jobs(words[2]))
    for (int64_t seed = 0; seed < seeds; ++seed) {
      if (count == 3) search({job, "block-moves", steps, static_cast<uint64_t>(seed)}, {}, {});
      for (int i = 3; i < count; ++i) {
        std::stringstream text(words[i]);
        std::string name, weights, draws, uniform;
        std::getline(text, name, '=');
        std::getline(text, weights, ',');
        std::getline(text, draws, ',');
        std::getline(text, uniform, ',');
        const sim::MoveScorer scorer = weights == "random"    ? sim::MoveScorer::random(seed)
                                       : weights == "shipped" ? sim::MoveScorer::shipped()
                                                              : sim::MoveScorer(read_weights(weights));
        search({job, name, steps, static_cast<uint64_t>(seed)}, {},
               {.scorer = &scorer, .draws = std::stoi(draws), .uniform = std::stod(uniform)});
      }
    }
  return 0;
}

int anneal(int count, char** words) {
  const int64_t steps = std::atoll(words[0]), seeds = std::atoll(words[1]);
  for (const Job& job : read_jobs(words[2]))
    for (int64_t seed = 0; seed < seeds; ++seed)
      for (int i = 3; i < count; ++i) {
        sim::Temperatures t;
        std::sscanf(words[i], "%lf,%lf,%lf,%lf", &t.hot, &t.cold, &t.moves.largest, &t.moves.single);
        search({job, fmt::format("anneal {}", words[i]), steps, static_cast<uint64_t>(seed)}, t, {});
      }
  return 0;
}

int heuristics(char** words) {
  for (const Job& job : read_jobs(words[0]))
    for (const char* name : {"single", "single-fused", "layerwise", "metis", "heft"}) {
      sim::Simulator simulator = simulator_of(job);
      const double begin = cpu_s();
      const sim::StrategyOptions options = options_of(job, simulator, 1, 0);
      const sim::StepReport report = simulator.run(sim::strategy(name).plan(simulator, options));
      if (report.valid) print_row({job, name, 1, 0}, report.step_seconds, cpu_s() - begin, "");
    }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  if (what == "collect" && count == 7) return collect(words + 2);
  if (what == "compare" && count >= 5) return compare(count - 2, words + 2);
  if (what == "heuristics" && count == 3) return heuristics(words + 2);
  if (what == "anneal" && count >= 6) return anneal(count - 2, words + 2);
  fmt::print(stderr, "see the head of bench/go/moves.cc\n");
  return 2;
}
