// hone gym leaderboard FILE...: a table of agents from files of results, whose claims are replayed.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/printable.h"
#include "base/progress.h"
#include "cli/cli.h"
#include "cli/gym.h"
#include "cost/shipped.h"
#include "passorder/leaderboard.h"

namespace hone::cli {

namespace {

using nlohmann::json;
using passorder::Standing;

struct LeaderboardCommand {
  std::shared_ptr<OutputOptions> output;
  std::vector<std::string> files;
  std::string programs, sets;
  bool markdown = false;
};

json standing_json(const Standing& s) {
  return {{"agent", s.agent},     {"benchmark", s.benchmark}, {"file", s.file},       {"programs", s.programs},
          {"confirmed", s.right}, {"reduction", s.reduction}, {"removed", s.removed}, {"problems", s.problems}};
}

// The text as plain text of Markdown, which neither ends a cell nor begins code, a link or an element of HTML.
std::string markdown_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\|`<[").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// Names are free text of others: they are escaped, or cut to their column, so that they look like no other column.
void print_standings(const std::vector<Standing>& standings, bool markdown) {
  if (markdown) fmt::print("| benchmark | agent | reduction | removed | confirmed |\n|---|---|---:|---:|---:|\n");
  if (!markdown)
    fmt::print("{:<16} {:<28} {:>10} {:>9} {:>10}\n", "benchmark", "agent", "reduction", "removed", "confirmed");
  for (const Standing& s : standings) {
    const std::string agent = printable(s.agent, 60), set = printable(s.benchmark, 60);
    const std::string confirmed = fmt::format("{}/{}", s.right, s.programs);
    if (markdown)
      fmt::print("| {} | {} | {:.3f} | {:.1f} % | {} |\n", markdown_text(set), markdown_text(agent), s.reduction,
                 100 * s.removed, confirmed);
    else
      fmt::print("{:<16.16} {:<28.28} {:>9.3f}x {:>7.1f} % {:>10}\n", set, agent, s.reduction, 100 * s.removed,
                 confirmed);
  }
}

int leaderboard(const LeaderboardCommand& c) {
  std::vector<passorder::GymResult> results;
  for (const std::string& file : c.files) results.push_back(passorder::read_gym_result(file));
  const std::string folder = c.sets.empty() ? cost::shipped_folder("benchmarks") : c.sets;
  std::map<std::string, passorder::BenchmarkSet> sets;
  for (const passorder::GymResult& result : results) {
    if (sets.contains(result.benchmark)) continue;
    if (result.benchmark.find('/') != std::string::npos) throw Error("no name of a set", result.file);
    sets[result.benchmark] = passorder::read_benchmark(folder + "/" + result.benchmark + ".json", c.programs);
  }
  passorder::PassSession session({});
  ProgressOptions shown;
  shown.total = static_cast<double>(results.size());
  shown.quiet = c.output->quiet;
  Progress progress("replay", shown);
  std::vector<Standing> standings;
  for (const passorder::GymResult& result : results) {
    standings.push_back(passorder::replay(result, sets.at(result.benchmark), session));
    progress.update(static_cast<double>(standings.size()), result.file);
  }
  progress.finish();
  std::stable_sort(standings.begin(), standings.end(), [](const Standing& a, const Standing& b) {
    return a.benchmark != b.benchmark ? a.benchmark < b.benchmark : a.reduction > b.reduction;
  });
  json rows = json::array();
  for (const Standing& s : standings) rows.push_back(standing_json(s));
  if (c.output->json)
    print({{"standings", rows}});
  else
    print_standings(standings, c.markdown);
  bool all_right = true;
  for (const Standing& s : standings)
    for (const std::string& problem : s.problems) {
      all_right = false;
      fmt::print(stderr, "hone: {}: {}\n", printable(s.file), printable(problem));
    }
  return all_right ? 0 : 1;
}

}  // namespace

Runner declare_gym_leaderboard(CLI::App& app) {
  const auto c = std::make_shared<LeaderboardCommand>();
  app.add_option("FILE", c->files, "files of results (docs/reference/gym.md)")->required()->type_name("");
  app.add_option("--programs", c->programs, "folder of the programs of sets that come without them")
      ->type_name("FOLDER");
  app.add_option("--sets", c->sets, "folder of the sets (default: data/benchmarks)")->type_name("FOLDER");
  app.add_flag("--markdown", c->markdown, "print the table as Markdown");
  c->output = add_output_options(app);
  return [c] { return leaderboard(*c); };
}

}  // namespace hone::cli
