#include "learn/go/go_run.h"

#include <filesystem>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "data/event_file.h"
#include "learn/train/process.h"

namespace hone::learn {

namespace {

constexpr const char* kCheckpointFormat = "hone-go-checkpoint-2";

// What must be equal for a run to be resumed; the number of iterations may grow.
std::string identity_of(const GoPolicy& policy, const std::vector<GoProblem>& problems, GoTrainOptions options) {
  options.iterations = 0;
  options.threads = 1;
  nlohmann::json graphs = nlohmann::json::array();
  for (const GoProblem& problem : problems)
    graphs.push_back({problem.name, problem.graph.nodes, problem.graph.devices, problem.scale_seconds});
  return to_json(policy.options).dump() + to_json(options).dump() + graphs.dump();
}

void save(const std::string& path, const GoTrainer& trainer, const std::string& identity, int64_t iterations) {
  if (path.empty()) return;
  options::TensorFile file;
  file.metadata = {{"format", kCheckpointFormat}, {"run", identity}, {"iterations", std::to_string(iterations)}};
  trainer.save(file);
  options::write_safetensors(path, file);
}

// Iterations done; 0 without a checkpoint.
int64_t load(const std::string& path, GoTrainer& trainer, const std::string& identity) {
  if (!std::filesystem::exists(path)) return 0;
  const options::TensorFile file = options::read_safetensors(path);
  const auto text = [&](const char* key) {
    const auto found = file.metadata.find(key);
    return found == file.metadata.end() ? std::string() : found->second;
  };
  if (text("format") != kCheckpointFormat) throw Error("not a checkpoint of a graph policy", path);
  if (text("run") != identity)
    throw Error("the checkpoint is from a run with other options or graphs", path,
                "use the same ones or name another file");
  try {
    trainer.restore(file);
  } catch (const std::out_of_range&) {
    throw Error("the checkpoint is damaged", path);
  } catch (const Error& e) {
    throw Error(e.what(), path, e.hint());
  }
  return std::strtoll(text("iterations").c_str(), nullptr, 10);
}

}  // namespace

GoRunReport train_go(std::shared_ptr<GoPolicy> policy, std::vector<GoProblem>& problems, const GoTrainOptions& options,
                     const GoFiles& files, const std::function<bool()>& interrupted,
                     const std::function<void(int64_t iteration, const GoScalars& scalars)>& progress) {
  begin_training(options.threads);
  const std::string identity = identity_of(*policy, problems, options);
  GoTrainer trainer(policy, problems, options);
  GoRunReport report;
  if (files.resume && !files.checkpoint.empty()) report.iterations = load(files.checkpoint, trainer, identity);
  std::unique_ptr<EventFile> events;
  if (!files.log_dir.empty()) events = std::make_unique<EventFile>(files.log_dir, wall_s());
  const double begin_s = steady_s(), begin_cpu_s = cpu_s();
  while (report.iterations < options.iterations) {
    if ((report.interrupted = interrupted())) break;
    const int64_t index = report.iterations % static_cast<int64_t>(problems.size());
    GoProblem& problem = problems[index];
    const double before = problem.best_seconds;
    const GoScalars scalars = trainer.round(report.iterations++);
    if (problem.best_seconds < before)
      report.gains.push_back({index, report.iterations, problem.simulations, steady_s() - begin_s, problem.best_seconds,
                              cpu_s() - begin_cpu_s});
    for (const auto& [name, value] : scalars)
      if (events) events->scalar(wall_s(), report.iterations, name, value);
    progress(report.iterations, scalars);
    if (report.iterations % files.checkpoint_every == 0) save(files.checkpoint, trainer, identity, report.iterations);
  }
  save(files.checkpoint, trainer, identity, report.iterations);
  report.seconds = steady_s() - begin_s;
  if (events) report.event_file = events->path();
  return report;
}

}  // namespace hone::learn
