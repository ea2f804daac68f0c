// hone verify PROGRAM: outputs under random decisions beside default XLA's, and default XLA's beside the interpreter's.
#include "request/verify.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/isa.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/command_tree.h"
#include "request/package_use.h"

namespace hone::cli {

namespace {

using nlohmann::json;
using request::VerifyRow;
using request::VerifyStatus;

struct VerifyCommand {
  std::shared_ptr<OutputOptions> output;
  std::shared_ptr<ProgramOptions> program;
  std::string decisions, jsonl, out, timeout = "60s";
  std::vector<std::string> kinds;
  int candidates = 10;
  bool no_interpreter = false;
};

std::vector<InputKind> kinds_of(const VerifyCommand& command) {
  std::vector<InputKind> kinds;
  for (const InputKindTraits& row : input_kinds())
    if (command.kinds.empty() || std::find(command.kinds.begin(), command.kinds.end(), row.name) != command.kinds.end())
      kinds.push_back(row.kind);
  return kinds;
}

// Of a package, or one list in each line of a file.
std::vector<Decisions> decisions_of_file(const std::string& path) {
  if (path.empty()) return {};
  if (report::is_package(path)) return {report::read_package(path).decisions};
  std::vector<Decisions> lists;
  const std::string text = read_file(path);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty()) continue;
    const std::optional<Decisions> list = try_decisions_from_text(line);
    if (!list)
      throw Error("not a list of decisions: " + line, path, "write each as \"kind key=value\", with | between");
    lists.push_back(*list);
  }
  return lists;
}

class VerifyRun {
 public:
  VerifyRun(const VerifyCommand& command, OpenedProgram& opened)
      : command_(command), opened_(opened), progress_("verifying", progress_options()) {
    if (command.jsonl.empty()) return;
    lines_.open(command.jsonl, std::ios::app);
    if (!lines_) throw RunError("the file cannot be written", command.jsonl);
  }

  int run(std::vector<Decisions> given) {
    request::VerifyOptions options;
    options.candidates = command_.candidates;
    options.given = std::move(given);
    options.kinds = kinds_of(command_);
    options.interpreter = !command_.no_interpreter;
    options.limit_s = parse_duration_s(command_.timeout, "--timeout");
    options.should_stop = interrupted;
    options.on_row = [this](VerifyRow& row) { take(row); };
    options.on_progress = [this](int done, int of) { tick(done, of); };
    try {
      request::verify(*opened_.session, options);
    } catch (const tune::Stopped&) {
      stopped_ = true;
    }
    progress_.finish();
    if (command_.output->json)
      print(result());
    else
      print_result();
    return faults() > 0 ? 1 : 0;
  }

 private:
  ProgressOptions progress_options() const {
    ProgressOptions shown;
    shown.quiet = command_.output->quiet;
    return shown;
  }

  void tick(int done, int of) {
    progress_.set_total(of);
    progress_.update(done, fmt::format("{} differ or fail", faults()));
  }

  int faults() const {
    int count = 0;
    for (int s = 0; s < request::kVerifyStatuses; ++s)
      if (request::is_fault(static_cast<VerifyStatus>(s))) count += counts_[s];
    return count;
  }

  void take(VerifyRow& row) {
    ++counts_[static_cast<size_t>(row.status)];
    if (request::is_fault(row.status)) {
      row.reproducer = fmt::format("{}/{}", folder(), faults());
      request::write_reproducer(row.reproducer, opened_, row);
    }
    json object = to_json(row, opened_.session->target().seed);
    if (lines_.is_open()) {
      json line = object;
      line["program"] = opened_.file.name;
      line["fingerprint"] = opened_.session->program().program;
      lines_ << line.dump() << '\n' << std::flush;
    }
    rows_.push_back(std::move(object));
    if (request::is_fault(row.status)) shown_.push_back(row);
  }

  std::string folder() const { return command_.out.empty() ? opened_.file.name + ".verify" : command_.out; }

  json result() const {
    json counts = json::object();
    for (int s = 0; s < request::kVerifyStatuses; ++s)
      counts[request::verify_status_name(static_cast<VerifyStatus>(s))] = counts_[s];
    const tune::Target& target = opened_.session->target();
    return {{"program", opened_.file.name},
            {"fingerprint", opened_.session->program().program},
            {"inputs", opened_.inputs},
            {"seed", target.seed},
            {"threads", target.threads},
            {"isa", isa_in_effect(target.max_isa)},
            {"counts", counts},
            {"rows", rows_},
            {"interrupted", stopped_ || interrupted()}};
  }

  void print_result() const {
    fmt::print("{}: {} pairs of decisions and inputs{}\n", opened_.file.name, rows_.size(),
               stopped_ || interrupted() ? ", interrupted" : "");
    for (int s = 0; s < request::kVerifyStatuses; ++s)
      if (counts_[s] > 0)
        fmt::print("  {:<16} {:>6}\n", request::verify_status_name(static_cast<VerifyStatus>(s)), counts_[s]);
    for (const VerifyRow& row : shown_) {
      fmt::print("  {} on {} inputs, {}: {}\n", request::verify_status_name(row.status), input_kind_name(row.inputs),
                 row.interpreter         ? "default XLA beside the interpreter"
                 : row.decisions.empty() ? "default XLA"
                                         : to_text(row.decisions),
                 row.check.note);
      if (row.check.output >= 0)
        fmt::print("    output {} at [{}]: {} instead of {}, error {:.3g} of the tolerance, {} of {} values\n",
                   row.check.output, fmt::join(row.check.index, ","), row.check.found, row.check.expected,
                   row.check.max_error, row.check.differing, row.check.elements);
      fmt::print("    kept in {}\n", row.reproducer);
    }
  }

  const VerifyCommand& command_;
  OpenedProgram& opened_;
  Progress progress_;
  std::ofstream lines_;
  std::array<int, request::kVerifyStatuses> counts_{};
  json rows_ = json::array();
  std::vector<VerifyRow> shown_;
  bool stopped_ = false;
};

int verify_command(const VerifyCommand& command) {
  std::vector<Decisions> given = decisions_of_file(command.decisions);
  parse_duration_s(command.timeout, "--timeout");
  OpenedProgram opened = open_program(*command.program);
  check_runs(opened);
  if (const auto used = request::use_package(opened); used && !used->decisions.empty())
    given.insert(given.begin(), used->decisions);
  return VerifyRun(command, opened).run(std::move(given));
}

std::string kinds_in_words_of_inputs() {
  std::string text;
  for (const InputKindTraits& row : input_kinds())
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", row.name, row.words);
  return text;
}

}  // namespace

Runner declare_verify(CLI::App& app) {
  const auto command = std::make_shared<VerifyCommand>();
  command->program = add_program_options(app);
  app.add_option("-n,--candidates", command->candidates,
                 "random lists of decisions, over every kind of decision that the program has (default 10)")
      ->check(within(0, 1'000'000));
  app.add_option("--decisions", command->decisions,
                 "decisions to verify before the random ones: a package, or a file with one list in each line, as in a "
                 "reproducer's decisions.txt")
      ->type_name("FILE");
  app.add_option("--kinds", command->kinds,
                 fmt::format("kinds of inputs, separated by commas: {} (default: all)", kinds_in_words_of_inputs()))
      ->delimiter(',')
      ->check(one_of(input_kind_names()))
      ->type_name("LIST");
  app.add_flag("--no-interpreter", command->no_interpreter, "do not compare default XLA with XLA's HLO interpreter");
  app.add_option("--timeout", command->timeout, "time limit of one comparison, as 60s or 2m (default 60s)")
      ->type_name("DURATION");
  app.add_option("--jsonl", command->jsonl, "file to which every pair is appended as it is known, an object a line")
      ->type_name("FILE");
  app.add_option("-o,--output", command->out,
                 "folder for what repeats each difference or failure (default: NAME.verify, made when there is one)")
      ->type_name("FOLDER");
  command->output = add_output_options(app);
  return [command] { return verify_command(*command); };
}

}  // namespace hone::cli
