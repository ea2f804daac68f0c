// Options that several commands share.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/interrupt.h"
#include "base/isa.h"
#include "base/log.h"
#include "base/processes.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/command_tree.h"
#include "cli/struct_options.h"

namespace hone::cli {

void begin_group(CLI::App& app, const std::string& heading) { app.option_defaults()->group(heading); }

namespace {

// A check whose message says what is wrong with the number: `wrong` answers what it is not, or nothing.
CLI::Validator of_number(std::function<std::string(double)> wrong) {
  return {[wrong = std::move(wrong)](const std::string& text) {
            double value = 0;
            if (!CLI::detail::lexical_cast(text, value) || !std::isfinite(value))
              return "'" + text + "' is not a number";
            const std::string fault = wrong(value);
            return fault.empty() ? "" : text + " is not " + fault;
          },
          ""};
}

}  // namespace

CLI::Validator above_zero() {
  return of_number([](double value) { return value > 0 ? "" : "above 0"; });
}

CLI::Validator above_zero(double most) {
  return of_number([most](double value) {
    return value > 0 && value <= most ? "" : fmt::format("above 0 and at most {:.0f}", most);
  });
}

CLI::Validator not_negative() {
  return of_number([](double value) { return value >= 0 ? "" : "0 or more"; });
}

CLI::Validator within(int64_t least, int64_t most) { return CLI::Validator(CLI::Range(least, most)).description(""); }

CLI::Validator one_of(const std::vector<std::string>& words) {
  return {[words](const std::string& text) {
            const bool known = std::find(words.begin(), words.end(), text) != words.end();
            if (known) return std::string();
            const std::string near = did_you_mean(text, words);
            return fmt::format("'{}' is none of {}{}", text, fmt::join(words, ", "), near);
          },
          "", fmt::format("{}{}", kOffers, fmt::join(words, ","))};
}

std::shared_ptr<OutputOptions> add_output_options(CLI::App& app) {
  auto options = std::make_shared<OutputOptions>();
  begin_group(app, "Output");
  for (const char* name : {"--output", "--force"})
    if (CLI::Option* option = app.get_option_no_throw(name)) option->group("Output");
  app.add_flag("--json", options->json, "print the result as one JSON object");
  app.add_flag("-v,--verbose", options->verbose, "log every candidate");
  app.add_flag("-q,--quiet", options->quiet, "show no progress, only errors");
  app.set_help_flag("-h,--help", "print this help and exit");
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

std::string command_line() {
  std::string text = "hone";  // without the folder it lies in
  const std::vector<std::string> words = own_command_words();
  for (size_t i = 1; i < words.size(); ++i) text += " " + words[i];
  return text;
}

cost::LearnHost learn_host(const OutputOptions& output) {
  return {interrupted, output.quiet ? 0 : output.verbose ? 2 : 1};
}

std::shared_ptr<ProgramOptions> add_program_options(CLI::App& app, Threads threads) {
  auto options = std::make_shared<ProgramOptions>();
  options->all_cores = threads == Threads::AllCores;
  begin_group(app, "Program");
  app.add_option("PROGRAM", options->program,
                 "program: a file of HLO or StableHLO (text, binary, .gz), a JAX export, an XLA dump folder, a .hone "
                 "package, or - for standard input")
      ->required()
      ->type_name("");
  app.add_option("--threads", options->threads,
                 options->all_cores
                     ? "threads of one run of the program (default: as many as this process has cores, of a "
                       "package those it was tuned for, on a cluster 1)"
                     : "threads of one run of the program (default 1: the models that choose here know programs "
                       "of one thread alone)");
  app.add_option("--seed", options->seed, "seed for generated inputs and for the search (default 0)");
  app.add_option("--weights", options->weights, "parameters that stay constant between calls, by number: 0,3-9")
      ->type_name("LIST");
  app.add_option(
         "--inputs", options->inputs,
         "file of inputs (.npz): arrays named arr_0, arr_1, ... by parameter, or in the order of the parameters "
         "(default: inputs that come with the program, or generated ones)")
      ->type_name("FILE");
  app.add_option("--memory-limit", options->memory_gib,
                 "memory a worker may use, in GiB (default: four fifths of the machine's memory)")
      ->check(above_zero(1 << 20))
      ->type_name("GIB");
  app.add_option(
         "--cache", options->cache,
         "folder where compiled code is kept for later runs, at most 1 GiB (default: hone/objects in the user's "
         "cache folder)")
      ->type_name("FOLDER");
  app.add_flag("--no-cache", options->no_cache, "compile everything, and keep no compiled code");
  app.add_flag("--allow-fast-math", options->allow_fast_math, "let XLA trade floating-point accuracy for speed");
  add_max_isa_option(app, options->max_isa);
  begin_group(app, "Options");
  return options;
}

void add_max_isa_option(CLI::App& app, std::string& max_isa) {
  const std::vector<std::string> names = max_isa_names();
  app.add_option("--max-isa", max_isa,
                 fmt::format("widest instruction set of the code that XLA generates, for default XLA as well: {} "
                             "(default: all that the CPU has)",
                             fmt::join(names, ", ")))
      ->check(one_of(names))
      ->type_name("ISA");
}

std::shared_ptr<std::string> add_database_option(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  app.add_option(
         "--db", *path,
         "database: a file (default: hone/hone.db in the user's data folder) or the URL of a PostgreSQL server, "
         "postgresql://user@host/name")
      ->type_name("FILE");
  return path;
}

void add_models_option(CLI::App& app, std::string& models) {
  app.add_option(
         "--models", models,
         "folder that is searched for default models before those that come with hone (laid out as data/models)")
      ->check(CLI::Validator(CLI::ExistingDirectory).description(""))
      ->type_name("FOLDER");
}

std::string option_names(const options::OptionRow& row) {
  if (row.spelling) return row.spelling;
  std::string name = std::string("--") + row.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::vector<int64_t> parse_widths(const std::string& text, const std::string& option) {
  std::vector<int64_t> widths;
  if (text == "none") return widths;
  for (const std::string& word : CLI::detail::split(text, ',')) {
    int64_t width = 0;
    if (!CLI::detail::lexical_cast(word, width))
      throw CLI::ValidationError(option, "'" + text + "' is not a list of widths like 2048,2048");
    widths.push_back(width);
  }
  return widths;
}

}  // namespace hone::cli
