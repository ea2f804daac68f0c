// hone gym replay FILE...: runs the passes of episodes again and compares what each of them left.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/printable.h"
#include "base/progress.h"
#include "cli/cli.h"
#include "cli/gym.h"
#include "passorder/episode.h"

namespace hone::cli {

namespace {

using nlohmann::json;

struct ReplayCommand {
  std::shared_ptr<OutputOptions> output;
  std::vector<std::string> files;
  std::string program;
};

// The session, and so the worker, of the last episode, whose limit of a step it has.
struct LastSession {
  double step_limit_s = 0;
  std::unique_ptr<passorder::PassSession> session;
};

passorder::PassSession& session_for(LastSession& last, double step_limit_s) {
  if (last.session && last.step_limit_s == step_limit_s) return *last.session;
  passorder::PassSessionOptions options;
  options.step_limit_s = last.step_limit_s = step_limit_s;
  options.costs = false;
  last.session = nullptr;  // the worker before ends first
  last.session = std::make_unique<passorder::PassSession>(options);
  return *last.session;
}

// Its exit code is left in `code` if that is lower.
json replay_row(const std::string& file, const std::string& program, LastSession& last, int& code) {
  json row = {{"file", file},     {"program", nullptr},      {"initial", nullptr}, {"steps", nullptr},
              {"equal_steps", 0}, {"instructions", nullptr}, {"problem", nullptr}};
  try {
    const passorder::Episode episode = passorder::read_episode(file);
    row["program"] = program.empty() ? episode.program : program;
    row["initial"] = episode.instructions;
    row["steps"] = episode.steps.size();
    const passorder::EpisodeReplay done = passorder::replay(episode, session_for(last, episode.step_limit_s), program);
    row["equal_steps"] = done.steps;
    row["instructions"] = done.instructions;
    if (done.problem.empty()) return row;
    row["problem"] = done.problem;
    code = std::max(code, 1);
  } catch (const RunError& failed) {
    row["problem"] = failed.what();
    code = std::max(code, 1);
  } catch (const Error& bad) {
    const std::string where = bad.where() == file || bad.where().empty() ? "" : bad.where() + ": ";
    row["problem"] = where + bad.what() + (bad.hint().empty() ? "" : "; " + bad.hint());
    code = std::max(code, 2);
  }
  return row;
}

void print_episode(const json& row) {
  const std::string file = printable(row.at("file").get<std::string>());
  if (!row.at("instructions").is_null())
    fmt::print("{}: {} of {} steps as recorded, {} -> {} instructions\n", file, row.at("equal_steps").get<int64_t>(),
               row.at("steps").get<int64_t>(), row.at("initial").get<int64_t>(), row.at("instructions").get<int64_t>());
}

// An episode that cannot be replayed is a row as well: the others are not lost.
int replay_episodes(const ReplayCommand& c) {
  LastSession last;
  ProgressOptions shown;
  shown.total = static_cast<double>(c.files.size());
  shown.quiet = c.output->quiet;
  Progress progress("replay", shown);
  json rows = json::array();
  int code = 0;
  for (const std::string& file : c.files) {
    rows.push_back(replay_row(file, c.program, last, code));
    progress.update(static_cast<double>(rows.size()), file);
  }
  progress.finish();
  if (c.output->json) print({{"episodes", rows}});
  for (const json& row : rows) {
    if (!c.output->json) print_episode(row);
    if (!row.at("problem").is_null())
      fmt::print(stderr, "hone: {}: {}\n", printable(row.at("file").get<std::string>()),
                 printable(row.at("problem").get<std::string>()));
  }
  return code;
}

}  // namespace

Runner declare_gym_replay(CLI::App& app) {
  const auto c = std::make_shared<ReplayCommand>();
  app.add_option("FILE", c->files, "episodes, as write_episode() of an environment writes them (docs/reference/gym.md)")
      ->required()
      ->type_name("");
  app.add_option("--program", c->program, "the episodes' program (default: the file that each names)")
      ->type_name("FILE");
  c->output = add_output_options(app);
  return [c] { return replay_episodes(*c); };
}

}  // namespace hone::cli
