#include "cli/cli.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string_view>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/printable.h"
#include "cli/help.h"
#include "cli/version.h"
#include "data/postgres.h"

namespace hone::cli {

namespace {

// The only place where errors are shown. Messages of XLA may have several lines, and names of files any bytes.
int fail(int code, const std::string& message, const std::string& where, const std::string& hint, bool json) {
  const std::string what = printable(message), place = printable(where), advice = printable(hint);
  if (json) print({{"error", {{"message", what}, {"where", place}, {"hint", advice}}}});
  std::string line = "hone: error: " + what;
  if (!place.empty()) line += " (" + place + ")";
  if (!advice.empty()) line += ": " + advice;
  fmt::print(stderr, "{}\n", line);
  return code;
}

// Runs a command and turns every exception into an exit code.
int guarded(const Runner& runner, bool json) {
  try {
    return runner();
  } catch (const RunError& e) {
    return fail(1, e.what(), e.where(), e.hint(), json);
  } catch (const Error& e) {
    return fail(2, e.what(), e.where(), e.hint(), json);
  } catch (const Interrupted&) {
    return fail(1, "interrupted before there was a result", "", "", json);
  } catch (const tune::Stopped&) {
    return fail(1, "stopped before there was a result", "", "", json);
  } catch (const std::bad_alloc&) {
    return fail(1, "out of memory", "", "", json);
  } catch (const std::exception& e) {
    return fail(1, std::string("internal error: ") + e.what(), "", "please report it with the program", json);
  }
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"inspect", "show what a program consists of and what can be decided", declare_inspect},
      {"run", "run a program or a tuned package, and compare it with default XLA", declare_run},
      {"tune", "search for a faster way to compile a program, and keep it as a package", declare_tune},
      {"optimize", "make a program faster in seconds: models choose, a duel decides", declare_optimize},
      {"export", "write a tuned package for stock JAX, as far as it goes without Hone", declare_export},
      {"verify", "compare a program's outputs under many decisions and inputs with default XLA's", declare_verify},
      {"report", "write the report of a tuned package as an HTML page, and its search as a trace", declare_report},
      {"order", "order XLA's own passes so that fewer operations are left", declare_order},
      {"place", "decide devices, order and fusion of a program's operations in a simulator", declare_place},
      {"shard", "divide a program between the devices of a mesh, as XLA and JAX take it", declare_shard},
      {"opt", "run a list of XLA's passes on a program", declare_opt},
      {"passes", "list XLA's passes by name", declare_passes},
      {"collect", "measure kernels and layouts of programs, and export them as data sets", declare_collect},
      {"generate", "write random valid programs as HLO text", declare_generate},
      {"train", "train a model of kernels or layouts on a data set", declare_train},
      {"gym", "train and evaluate agents that order XLA's passes", declare_gym},
      {"go", "train and use policies that plan graphs: placement, schedule, fusion", declare_go},
      {"predict", "predict run times of a program's kernels, or rank the options of one", declare_predict},
      {"eval", "evaluate a trained model on programs it has not seen", declare_eval},
      {"tpugraphs", "inspect, import and export files of the TpuGraphs data set", declare_tpugraphs},
      {"db", "inspect, export, merge, compact and check the database of measured candidates", declare_db},
      {"doctor", "check whether hone works on this machine, and suggest fixes", declare_doctor},
      {"worker", "start a worker and show what its XLA offers", declare_worker},
      {"completion", "print a script that lets a shell complete commands, options and values", declare_completion,
       true},
      {"man", "write manual pages", declare_man, true},
  };
  return table;
}

void hide_passwords(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::string_view word(argv[i]);
    const size_t url = word.find("postgres");  // by itself or after --db=
    if (url == std::string_view::npos) continue;
    for (const PasswordPlace& place : password_places(word.substr(url)))
      std::fill_n(argv[i] + url + place.first, place.length, 'x');
  }
}

int run(int argc, const char* const* argv) {
  std::signal(SIGPIPE, SIG_IGN);
  bool json = false;  // read before parsing, since parsing can fail
  for (int i = 1; i < argc; ++i) json = json || std::string(argv[i]) == "--json";

  CLI::App app("Finds faster ways to compile XLA programs, and verifies them.", "hone");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "print this help and exit");
  app.set_version_flag(
      "--version", [json] { return version_text(json); },
      "print the version, with the commit and XLA's, and exit; with --json as an object");
  app.require_subcommand(1);
  app.fallthrough(false);
  Runner chosen;
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    if (command.hidden) sub->group("");
    Runner runner = command.declare(*sub);
    sub->final_callback([&chosen, runner = std::move(runner)] { chosen = runner; });
  }
  // After the commands, which would inherit it.
  app.footer("hone completion bash prints what lets bash complete all of this; zsh and fish are known as well.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // help and version
    const ParseFault fault = explain(app, e);
    // Of a value: "--kind: 'wrong' is none of ...".
    const size_t colon = fault.message.starts_with("--") ? fault.message.find(": ") : std::string::npos;
    const bool of_option = colon < fault.message.find(' ');
    return fail(2, of_option ? fault.message.substr(colon + 2) : fault.message,
                of_option ? fault.message.substr(0, colon) : "command line", fault.hint, json);
  }
  install_interrupt_handler();
  const int code = guarded(chosen, json);
  return std::fflush(stdout) == 0 ? code : 1;
}

}  // namespace hone::cli
