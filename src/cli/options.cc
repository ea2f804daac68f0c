// Options that several commands share.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "data/npz.h"
#include "data/postgres.h"

namespace hone::cli {

namespace fs = std::filesystem;

namespace {

int64_t machine_memory_bytes() { return static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE); }

}  // namespace

std::shared_ptr<OutputOptions> add_output_options(CLI::App& app) {
  auto options = std::make_shared<OutputOptions>();
  app.add_flag("--json", options->json, "print one JSON object");
  app.add_flag("-v,--verbose", options->verbose, "log every candidate");
  app.add_flag("-q,--quiet", options->quiet, "no progress, errors only");
  app.parse_complete_callback([options] {
    set_up_log(options->quiet ? Verbosity::Quiet : options->verbose ? Verbosity::Verbose : Verbosity::Normal);
  });
  return options;
}

void print(const nlohmann::json& object) {
  // Names come from the user's files and need not be UTF-8.
  const std::string text = object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
}

std::shared_ptr<ProgramOptions> add_program_options(CLI::App& app) {
  auto options = std::make_shared<ProgramOptions>();
  app.add_option("PROGRAM", options->program,
                 "HLO or StableHLO (text, binary, .gz), a JAX export, an XLA dump folder, a .hone package, or - for "
                 "standard input")
      ->required();
  app.add_option("--threads", options->threads, "threads of one run (default 1)");
  app.add_option("--seed", options->seed, "of generated inputs and of every random choice (default 0)");
  app.add_option("--weights", options->weights, "parameters that stay constant between calls, as 0,3-9");
  app.add_option("--inputs", options->inputs,
                 "an .npz file: arr_0, arr_1, ..., or arrays in the order of the parameters");
  app.add_option("--memory-limit", options->memory_gib,
                 "GiB a worker may use (default: four fifths of the machine's memory)")
      ->check(CLI::PositiveNumber);
  app.add_flag("--allow-fast-math", options->allow_fast_math, "let XLA trade exactness for speed");
  return options;
}

tune::Target ProgramOptions::target(const std::optional<report::LoadedPackage>& package) const {
  tune::Target target = package ? package->target : tune::Target{};
  if (threads) target.threads = *threads;
  if (seed) target.seed = *seed;
  if (weights) target.weights = parse_index_list(*weights, "--weights");
  if (allow_fast_math) target.allow_fast_math = true;
  target.validate();
  return target;
}

OpenedProgram open_program(const ProgramOptions& options, double budget_s) {
  OpenedProgram opened;
  opened.file = report::read_program(options.program);
  std::vector<NamedArray> inputs;
  if (!options.inputs.empty()) inputs = read_npz(options.inputs);
  tune::SessionOptions session;
  session.target = options.target(opened.file.package);
  session.budget_s = budget_s;
  session.worker.memory_limit_bytes = options.memory_gib > 0
                                          ? static_cast<int64_t>(options.memory_gib * (int64_t{1} << 30))
                                          : machine_memory_bytes() / 5 * 4;
  opened.session = std::make_unique<tune::Session>(session);
  opened.session->load(opened.file.bytes, opened.file.name);
  const auto& snapshot = opened.session->program().snapshot_inputs;
  opened.inputs = !options.inputs.empty() ? options.inputs : snapshot.empty() ? "generated" : "snapshot";
  if (!options.inputs.empty()) opened.session->set_inputs(std::move(inputs));
  return opened;
}

std::shared_ptr<std::string> add_database_option(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  app.add_option("--db", *path,
                 "the database: a file (default: hone/hone.db in the user's data folder) or a PostgreSQL server's URL, "
                 "postgresql://user@host/name");
  return path;
}

std::string database_path(const std::string& option) {
  if (!option.empty()) return option;
  const char* data = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  if (data && *data) return (fs::path(data) / "hone" / "hone.db").string();
  if (!home || !*home) throw Error("there is no home folder for the database", "--db", "name a file with --db");
  return (fs::path(home) / ".local" / "share" / "hone" / "hone.db").string();
}

Database open_database(const std::string& option) {
  const std::string path = database_path(option);
  if (is_postgres_url(path)) return Database::open(path);
  std::error_code failed;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, failed);
  if (failed)
    throw Error("cannot make the database's folder: " + failed.message(), folder.string(), "name a file with --db");
  return Database::open(path);
}

Database open_existing_database(const std::string& option) {
  const std::string path = database_path(option);
  if (!is_postgres_url(path) && !fs::exists(path))
    throw Error("there is no database", path, "hone tune makes one, --db names another");
  return Database::open(path, {.read_only = true});
}

}  // namespace hone::cli
