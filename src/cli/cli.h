// The command line: a table of subcommands, one file each, and their common parts.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cost/learn_library.h"
#include "request/database_file.h"
#include "request/program.h"

namespace hone::cli {

using request::check_runs;
using request::database_path;
using request::open_database;
using request::open_existing_database;
using request::open_program;
using request::OpenedProgram;
using request::ProgramOptions;

// Does the work after parsing; returns the exit code.
using Runner = std::function<int()>;

struct Command {
  const char* name;
  const char* summary;
  Runner (*declare)(CLI::App& app);  // adds the options and returns the command's function
  bool hidden = false;               // not listed by --help
};
const std::vector<Command>& commands();

// Parses, runs one command, and turns every exception into one line and an exit code: 0 fine, 1 failed, 2 bad input.
// Results go to standard output, everything else to standard error. With --json errors are an object on standard output.
int run(int argc, const char* const* argv);

// Writes x over the passwords of databases' URLs, since every user of the machine can read a process's arguments.
void hide_passwords(int argc, char** argv);

// An option may have several names, "-o,--output,--out": the further long names are old spellings, which work but are
// not shown (help.h). An option means the same in every command that has it:
//   -o,--output  the file or folder a command writes      --weights     parameters that stay constant between calls
//   --model      the kind of a network that is trained    --model-file  trained weights, a file or a folder of them
//   --network    the kind of a policy's network           --policy-file a trained policy
//   --models     the folder of shipped models
inline constexpr char kOutput[] = "-o,--output,--out";  // of commands that once called it --out
inline constexpr char kModelFile[] = "--model-file,--weights";
inline constexpr char kPolicyFile[] = "--policy-file,--policy";

// Options added after this call are listed under the heading in the help text. Output, Advanced and kMaintainers (help.h)
// come last.
void begin_group(CLI::App& app, const std::string& heading);

// Checks of an option's value. Help texts state the allowed values.
CLI::Validator above_zero();
CLI::Validator above_zero(double most);
CLI::Validator not_negative();
CLI::Validator within(int64_t least, int64_t most);
CLI::Validator one_of(const std::vector<std::string>& words);

// --json, -v, -q and --help, in the group Output, to which -o and --force are moved: every command, added last but for the
// groups Advanced and kMaintainers.
struct OutputOptions {
  bool json = false, verbose = false, quiet = false;
};
std::shared_ptr<OutputOptions> add_output_options(CLI::App& app);
void print(const nlohmann::json& object);  // one object and a newline
std::string command_line();                // of this process
cost::LearnHost learn_host(const OutputOptions& output);

// PROGRAM, --threads and the other options for compiling and running a program, for every command that opens one.
// `threads`: how many there are by default. Commands whose models know programs of one thread alone take one.
enum class Threads : int8_t { One, AllCores };
std::shared_ptr<ProgramOptions> add_program_options(CLI::App& app, Threads threads = Threads::One);

// --max-isa: every command that compiles programs; of those that open one it is among the options above.
void add_max_isa_option(CLI::App& app, std::string& max_isa);

// --db. The default is in the user's data folder, which is created when needed.
std::shared_ptr<std::string> add_database_option(CLI::App& app);

// --models DIR, which is searched before the models that come with the program (cost/shipped.h).
void add_models_option(CLI::App& app, std::string& models);

Runner declare_inspect(CLI::App& app);
Runner declare_run(CLI::App& app);
Runner declare_tune(CLI::App& app);
Runner declare_optimize(CLI::App& app);
Runner declare_export(CLI::App& app);
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
Runner declare_shard(CLI::App& app);
Runner declare_tpugraphs(CLI::App& app);
Runner declare_doctor(CLI::App& app);
Runner declare_verify(CLI::App& app);
Runner declare_worker(CLI::App& app);
Runner declare_completion(CLI::App& app);
Runner declare_man(CLI::App& app);

}  // namespace hone::cli
