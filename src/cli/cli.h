// The command line: a table of subcommands, one file each, and what they share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/database.h"
#include "report/program_file.h"
#include "tune/session/session.h"

namespace hone::cli {

// Does the work after parsing; returns the exit code.
using Runner = std::function<int()>;

struct Command {
  const char* name;
  const char* summary;
  Runner (*declare)(CLI::App& app);  // adds the options, returns what runs when the command is chosen
};
const std::vector<Command>& commands();

// Parses, runs one command, and turns every exception into one line and an exit code: 0 fine, 1 failed, 2 bad input.
// Results go to standard output, everything else to standard error. With --json errors are an object on standard output.
int run(int argc, const char* const* argv, const std::string& version);

// --json, -v, -q: every command.
struct OutputOptions {
  bool json = false, verbose = false, quiet = false;
};
std::shared_ptr<OutputOptions> add_output_options(CLI::App& app);
void print(const nlohmann::json& object);  // one object and a newline
std::string command_line();                // how this process was called, for the record

// How a program is compiled and run: every command that opens one.
struct ProgramOptions {
  std::string program;
  std::optional<int> threads;
  std::optional<uint64_t> seed;
  std::optional<std::string> weights;
  bool allow_fast_math = false;
  std::string inputs;     // .npz or .npy file; empty = the program's own or generated
  double memory_gib = 0;  // that a worker may use; 0 = four fifths of the machine's

  // A package brings its own target; options given explicitly win.
  tune::Target target(const std::optional<report::LoadedPackage>& package) const;
};
std::shared_ptr<ProgramOptions> add_program_options(CLI::App& app);

// Reads the program, starts a worker and loads the program and its inputs into it.
struct OpenedProgram {
  report::ProgramFile file;
  std::unique_ptr<tune::Session> session;
  std::string inputs;  // "generated", "snapshot" or the file
};
OpenedProgram open_program(const ProgramOptions& options, double budget_s = 0);

// --db FILE. The default lies in the user's data folder, which is made on demand.
std::shared_ptr<std::string> add_database_option(CLI::App& app);
std::string database_path(const std::string& option);
Database open_database(const std::string& option);           // creates
Database open_existing_database(const std::string& option);  // read only; throws Error when there is none

Runner declare_inspect(CLI::App& app);
Runner declare_run(CLI::App& app);
Runner declare_tune(CLI::App& app);
Runner declare_optimize(CLI::App& app);
Runner declare_collect(CLI::App& app);
Runner declare_db(CLI::App& app);
Runner declare_generate(CLI::App& app);
Runner declare_train(CLI::App& app);
Runner declare_gym(CLI::App& app);
Runner declare_go(CLI::App& app);
Runner declare_predict(CLI::App& app);
Runner declare_report(CLI::App& app);
Runner declare_eval(CLI::App& app);
Runner declare_passes(CLI::App& app);
Runner declare_opt(CLI::App& app);
Runner declare_order(CLI::App& app);
Runner declare_place(CLI::App& app);
Runner declare_tpugraphs(CLI::App& app);
Runner declare_worker(CLI::App& app);

}  // namespace hone::cli
