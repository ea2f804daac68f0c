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
#include "base/python.h"

namespace hone::cli {

namespace {

namespace fs = std::filesystem;

// Options that the fleet's program handles itself.
const std::set<std::string>& fleet_only() {
  static const std::set<std::string> names = {"--engine", "--address", "--kernels", "--db",      "--output", "--budget",
                                              "--force",  "--json",    "--quiet",   "--verbose", "PROGRAM",  "--help"};
  return names;
}

bool was_given(const CLI::App& command, const std::string& name) { return command.get_option(name)->count() > 0; }

// The options given by the user, for hone on the nodes: [["--threads", "2"], ["--no-fusion"], ...].
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
  // Nodes differ in cores, and a result is for a number of threads.
  if (!was_given(command, "--threads")) given.push_back({"--threads", "1"});
  return given;
}

}  // namespace

std::shared_ptr<FleetOptions> add_fleet_options(CLI::App& app) {
  auto options = std::make_shared<FleetOptions>();
  options->command = &app;
  app.add_option("--engine", options->engine,
                 "where the search runs: local, or ray for the nodes of a Ray cluster (default local)")
      ->check(one_of({"local", "ray"}))
      ->type_name("ENGINE");
  app.add_option("--address", options->address,
                 "address of the Ray cluster, as auto or HOST:PORT (default: a cluster of this machine alone)")
      ->type_name("ADDRESS");
  app.add_option(
         "--kernels", options->kernels,
         "fingerprints of kernels, separated by commas: tune only these, into the database, and write no package (a "
         "node's part)")
      ->delimiter(',')
      ->type_name("LIST");
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
  const PythonCommand python = python_with_hone();
  if (!python.search_path.empty()) ::setenv("PYTHONPATH", python.search_path.c_str(), 1);
  const std::string text = request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  ::setenv("HONE_FLEET_REQUEST", text.c_str(), 1);  // not as an argument: it may have a password
  ::execlp(python.program.c_str(), python.program.c_str(), "-m", "hone.fleet", nullptr);
  throw RunError("Python cannot be started: " + std::generic_category().message(errno), python.program,
                 "a fleet needs Python and Ray: scripts/setup.sh --fleet");
}

}  // namespace hone::cli
