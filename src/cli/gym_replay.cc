// hone gym replay FILE...: runs the passes of episodes again and compares what each of them left.
#include <fmt/core.h>

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

int replay_episodes(const ReplayCommand& c) {
  std::vector<passorder::Episode> episodes;
  for (const std::string& file : c.files) episodes.push_back(passorder::read_episode(file));
  passorder::PassSession session({});
  ProgressOptions shown;
  shown.total = static_cast<double>(episodes.size());
  shown.quiet = c.output->quiet;
  Progress progress("replay", shown);
  json rows = json::array();
  bool all_equal = true;
  for (size_t i = 0; i < episodes.size(); ++i) {
    const passorder::EpisodeReplay done = passorder::replay(episodes[i], session, c.program);
    all_equal = all_equal && done.problem.empty();
    rows.push_back({{"file", c.files[i]},
                    {"program", c.program.empty() ? episodes[i].program : c.program},
                    {"initial", episodes[i].instructions},
                    {"steps", episodes[i].steps.size()},
                    {"equal_steps", done.steps},
                    {"instructions", done.instructions},
                    {"problem", done.problem.empty() ? json(nullptr) : json(done.problem)}});
    progress.update(static_cast<double>(i + 1), c.files[i]);
  }
  progress.finish();
  if (c.output->json) print({{"episodes", rows}});
  for (const json& row : rows) {
    const std::string file = printable(row.at("file").get<std::string>());
    if (!c.output->json)
      fmt::print("{}: {} of {} steps as recorded, {} -> {} instructions\n", file, row.at("equal_steps").get<int64_t>(),
                 row.at("steps").get<int64_t>(), row.at("initial").get<int64_t>(),
                 row.at("instructions").get<int64_t>());
    if (!row.at("problem").is_null())
      fmt::print(stderr, "hone: {}: {}\n", file, printable(row.at("problem").get<std::string>()));
  }
  return all_equal ? 0 : 1;
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
