#include "learn/agents/agent_run.h"

#include <ATen/Context.h>

#include <deque>
#include <filesystem>

#include "base/clock.h"
#include "base/error.h"
#include "data/event_file.h"
#include "learn/train/process.h"
#include "passorder/policy_file.h"

namespace hone::learn {

namespace {

constexpr const char* kRunFormat = "hone-agent-checkpoint-1";
constexpr size_t kRecent = 100;     // episodes in means
constexpr int64_t kLogEvery = 500;  // steps, at least

// What must be equal for a run to be resumed. The number of steps may grow unless exploration depends on it.
std::string identity_of(options::AgentOptions options, const passorder::EnvironmentSpec& spec,
                        const std::string& environment) {
  if (options.agent != "dqn") options.steps = 1;
  options.threads = 1;
  options.environment_threads = true;
  return to_json(options).dump() + to_json(spec).dump() + environment;
}

double mean_of(const std::deque<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

class AgentRun {
 public:
  AgentRun(const passorder::EnvironmentFactory& factory, const options::AgentOptions& options, const AgentFiles& files)
      : options_(options),
        files_(files),
        environments_(options.environments, factory, options.seed, options.environment_threads),
        agent_(make_agent(options, environments_.spec())) {
    if (!files.begin.empty()) begin();
    if (files.resume && !files.checkpoint.empty()) load();
    if (!files.log_dir.empty()) events_ = std::make_unique<EventFile>(files.log_dir, wall_s());
  }

  AgentReport operator()(const std::function<bool()>& interrupted,
                         const std::function<void(const AgentProgress&)>& progress) {
    AgentReport report;
    const double begin_s = steady_s();
    const int64_t begin_steps = place_.steps;
    int64_t next_checkpoint = place_.steps + files_.checkpoint_every, next_log = place_.steps;
    while (place_.steps < options_.steps) {
      const nlohmann::json stood = environments_.save();
      int64_t moved = -options_.environments;  // an agent asks before it steps all of them
      const auto round = agent_->round(environments_, place_, [&] {
        moved += options_.environments;
        progress({place_.steps + moved, episodes_, mean_of(returns_)});
        return interrupted();
      });
      if (!round) {
        report.interrupted = true;
        save(stood);
        break;
      }
      count(*round);
      if (place_.steps >= next_log && !round->scalars.empty()) {
        log(*round, static_cast<double>(place_.steps - begin_steps) / std::max(steady_s() - begin_s, 1e-9));
        next_log = place_.steps + kLogEvery;
      }
      if (place_.steps >= next_checkpoint && place_.steps < options_.steps) {
        save(environments_.save());
        next_checkpoint = place_.steps + files_.checkpoint_every;
      }
    }
    progress({place_.steps, episodes_, mean_of(returns_)});
    report.seconds = steady_s() - begin_s;
    if (!report.interrupted) save(environments_.save());
    report.steps_per_s = static_cast<double>(place_.steps - begin_steps) / std::max(report.seconds, 1e-9);
    report.steps = place_.steps;
    report.rounds = place_.rounds;
    report.episodes = episodes_;
    report.mean_return = mean_of(returns_);
    report.mean_length = mean_of(lengths_);
    report.spec = environments_.spec();
    if (events_) report.event_file = events_->path();
    report.agent = std::move(agent_);
    return report;
  }

 private:
  void begin() {
    const options::TensorFile file = options::read_safetensors(files_.begin);
    const passorder::PolicyHeader header = passorder::read_policy_header(file, files_.begin);
    if (!header.order.is_null())
      throw Error("the policy follows an order, which no agent learns", files_.begin, "hone gym train writes others");
    if (header.spec != environments_.spec())
      throw Error("the policy is for the environment " + header.spec.id + " or for other passes", files_.begin,
                  "give the same --environment and --passes");
    try {
      agent_->begin_with(file);
    } catch (const Error& e) {
      if (!e.where().empty()) throw;
      throw Error(e.what(), files_.begin, "give the same --layers");
    }
    if (header.options.activation != options_.activation)
      throw Error("the policy's activation is " + header.options.activation, files_.begin,
                  "give the same --activation");
  }

  void count(const Round& round) {
    place_.steps += round.steps;
    ++place_.rounds;
    episodes_ += static_cast<int64_t>(round.episodes.size());
    for (const EpisodeEnd& end : round.episodes) {
      returns_.push_back(end.return_);
      lengths_.push_back(static_cast<double>(end.length));
      if (returns_.size() <= kRecent) continue;
      returns_.pop_front();
      lengths_.pop_front();
    }
  }

  void log(const Round& round, double steps_per_s) {
    if (!events_) return;
    const double now = wall_s();
    for (const auto& [name, value] : round.scalars) events_->scalar(now, place_.steps, name, value);
    events_->scalar(now, place_.steps, "time/steps_per_second", steps_per_s);
    if (returns_.empty()) return;
    events_->scalar(now, place_.steps, "episode/mean_return", mean_of(returns_));
    events_->scalar(now, place_.steps, "episode/mean_length", mean_of(lengths_));
  }

  // `environments`: their state after the last round that is counted.
  void save(const nlohmann::json& environments) {
    if (files_.checkpoint.empty()) return;
    options::TensorFile file;
    file.metadata = {{"format", kRunFormat},
                     {"run", identity_of(options_, environments_.spec(), files_.environment)},
                     {"environments", environments.dump()},
                     {"progress", nlohmann::json{{"steps", place_.steps},
                                                 {"rounds", place_.rounds},
                                                 {"episodes", episodes_},
                                                 {"returns", returns_},
                                                 {"lengths", lengths_}}
                                      .dump()}};
    agent_->save(file);
    options::write_safetensors(files_.checkpoint, file);
  }

  void load() {
    const std::string& path = files_.checkpoint;
    if (!std::filesystem::exists(path)) return;
    const options::TensorFile file = options::read_safetensors(path);
    const auto text = [&](const char* key) {
      const auto found = file.metadata.find(key);
      return found == file.metadata.end() ? std::string() : found->second;
    };
    if (text("format") != kRunFormat) throw Error("not a checkpoint of an agent", path);
    if (text("run") != identity_of(options_, environments_.spec(), files_.environment))
      throw Error("the checkpoint is from a run with other options or another environment", path,
                  "use the same ones or name another file");
    try {
      const nlohmann::json progress = nlohmann::json::parse(text("progress"));
      progress.at("steps").get_to(place_.steps);
      progress.at("rounds").get_to(place_.rounds);
      progress.at("episodes").get_to(episodes_);
      progress.at("returns").get_to(returns_);
      progress.at("lengths").get_to(lengths_);
      agent_->restore(file);
      environments_.restore(nlohmann::json::parse(text("environments")));
    } catch (const nlohmann::json::exception&) {
      throw Error("the checkpoint is damaged", path);
    } catch (const std::out_of_range&) {
      throw Error("the checkpoint is damaged", path);
    } catch (const RunError&) {
      throw;  // the file is not the cause
    } catch (const Error& e) {
      throw Error(e.what(), path, e.hint());
    }
  }

  options::AgentOptions options_;
  AgentFiles files_;
  passorder::VectorEnvironment environments_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<EventFile> events_;
  RunPlace place_;
  int64_t episodes_ = 0;
  std::deque<double> returns_, lengths_;
};

}  // namespace

AgentReport train_agent(const passorder::EnvironmentFactory& factory, const options::AgentOptions& options,
                        const AgentFiles& files, const std::function<bool()>& interrupted,
                        const std::function<void(const AgentProgress&)>& progress) {
  options.validate();
  begin_training(options.threads);
  at::globalContext().setFloat32MatmulPrecision(options.matmul_precision);
  return AgentRun(factory, options, files)(interrupted, progress);
}

}  // namespace hone::learn
