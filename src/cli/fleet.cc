#include "cli/fleet.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/rng.h"

namespace hone::cli {

namespace {

namespace fs = std::filesystem;

// What the fleet's program sees to itself.
const std::set<std::string>& fleet_only() {
  static const std::set<std::string> names = {"--engine", "--address", "--kernels", "--db",      "--output", "--budget",
                                              "--force",  "--json",    "--quiet",   "--verbose", "PROGRAM",  "--help"};
  return names;
}

// The options the user gave, for hone on the nodes: [["--threads", "2"], ["--no-fusion"], ...].
nlohmann::json given_options(const CLI::App& command) {
  nlohmann::json given = nlohmann::json::array();
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_single_name();
    const std::string full = option->get_lnames().empty() ? name : "--" + option->get_lnames().front();
    if (option->count() == 0 || fleet_only().contains(full)) continue;
    nlohmann::json words = {full};
    const bool takes_value = option->get_expected_max() > 0;
    for (const std::string& value : option->results())
      if (takes_value) words.push_back(value);
    given.push_back(words);
  }
  return given;
}

bool was_given(const CLI::App& command, const std::string& name) { return command.get_option(name)->count() > 0; }

}  // namespace

std::shared_ptr<FleetOptions> add_fleet_options(CLI::App& app) {
  auto options = std::make_shared<FleetOptions>();
  options->command = &app;
  app.add_option("--engine", options->engine,
                 "what measures and searches: local, or ray for a Ray cluster (default local)")
      ->check(CLI::IsMember({"local", "ray"}));
  app.add_option("--address", options->address,
                 "with --engine ray: the cluster, as auto or HOST:PORT (default: this machine alone)");
  app.add_option(
         "--kernels", options->kernels,
         "tune only these kernels of default XLA (fingerprints, comma-separated), into the database: a node's part")
      ->delimiter(',');
  return options;
}

void tune_on_fleet(const FleetOptions& options, const std::string& program, const std::string& database,
                   const std::string& output, double budget_s) {
  const CLI::App& command = *options.command;
  if (program == "-") throw Error("a fleet needs the program in a file", "-", "write it to a file first");
  if (was_given(command, "--exhaustive"))
    throw Error("--exhaustive measures on one machine", "--engine", "leave out one of the two");
  if (!options.kernels.empty()) throw Error("--kernels is for one node", "--kernels", "leave out one of the two");
  if (!fs::exists(program)) throw Error("there is no such file", program);

  const nlohmann::json request = {{"hone", (executable_dir() / "hone").string()},
                                  {"address", options.address},
                                  {"program", fs::absolute(program).string()},
                                  {"db", database},
                                  {"output", fs::absolute(output).string()},
                                  {"output_name", output},
                                  {"budget_s", budget_s},
                                  {"json", was_given(command, "--json")},
                                  {"quiet", was_given(command, "--quiet")},
                                  {"options", given_options(command)}};
  // A build lies in the repository; an installed program finds the package among Python's own.
  const fs::path root = executable_dir().parent_path();
  const fs::path own = root / ".venv" / "bin" / "python";
  const std::string python = fs::exists(own) ? own.string() : "python3";
  if (fs::exists(root / "python" / "hone" / "fleet")) {
    const char* path = std::getenv("PYTHONPATH");
    const std::string first = (root / "python").string();
    ::setenv("PYTHONPATH", (path != nullptr && *path != 0 ? first + ":" + path : first).c_str(), 1);
  }
  const std::string text = request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  ::execlp(python.c_str(), python.c_str(), "-m", "hone.fleet", text.c_str(), nullptr);
  throw RunError("Python cannot be started: " + std::generic_category().message(errno), python,
                 "a fleet needs Python and Ray: scripts/setup.sh --fleet");
}

nlohmann::json tune_listed_kernels(tune::Session& session, const std::set<std::string>& kernels,
                                   const tune::KernelOptions& options, double budget_s, uint64_t seed) {
  std::vector<Kernel> listed = session.lower({}, /*want_fusion=*/false).kernels;
  std::erase_if(listed, [&](const Kernel& kernel) { return !kernels.contains(kernel.fingerprint); });
  if (listed.empty())
    throw Error("the program has none of these kernels", "--kernels", "hone inspect --json lists them");
  session.begin_search();
  Rng rng(seed);
  nlohmann::json tuned = nlohmann::json::array();
  try {
    tune::tune_kernels(listed, session, budget_s, options, rng, [&](const tune::KernelsProgress& progress) {
      const tune::KernelReport& report = *progress.report;
      tuned.push_back({{"fingerprint", report.fingerprint},
                       {"known", report.known},
                       {"complete", report.complete},
                       {"tried", report.tried},
                       {"gain", report.gain},
                       {"chosen", report.chosen}});
    });
  } catch (const tune::Stopped&) {  // the end of the budget, or the user: what was measured is in the database
  }
  return {{"kernels", tuned}, {"host", session.host()}, {"xla_version", session.worker_info().xla_version}};
}

}  // namespace hone::cli
