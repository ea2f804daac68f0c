#include "request/verify.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "graph/allowed_difference.h"
#include "request/random_decisions.h"

namespace hone::request {

namespace {

using nlohmann::json;
using tune::Outcome;
using tune::OutputCheck;

constexpr std::array<const char*, kVerifyStatuses> kNames = {"equal",          "allowed", "differs",   "unverifiable",
                                                             "compile_failed", "crashed", "timed_out", "run_failed"};

VerifyStatus status_of(const VerifyRow& row) {
  switch (row.check.outcome) {
    case Outcome::Ok:
      return VerifyStatus::Equal;
    case Outcome::Mismatch:
      return allows_difference(row.decisions, row.inputs, row.check.differing == row.check.special)
                 ? VerifyStatus::Allowed
                 : VerifyStatus::Differs;
    case Outcome::CompileFailed:
      return VerifyStatus::CompileFailed;
    case Outcome::Crashed:
      return VerifyStatus::Crashed;
    case Outcome::TimedOut:
      return VerifyStatus::TimedOut;
    case Outcome::RunFailed:
      return VerifyStatus::RunFailed;
    default:
      return VerifyStatus::Unverifiable;
  }
}

bool fails_everywhere(Outcome outcome) {
  return outcome == Outcome::CompileFailed || outcome == Outcome::Crashed || outcome == Outcome::TimedOut;
}

class Verification {
 public:
  Verification(tune::Session& session, const VerifyOptions& options) : session_(session), options_(options) {}

  std::vector<VerifyRow> run() {
    std::vector<Decisions> candidates = options_.given;
    check_default();
    if (!stopped()) {
      for (Decisions& drawn :
           random_decisions(session_, options_.candidates, session_.target().seed, options_.should_stop))
        candidates.push_back(std::move(drawn));
      pairs_ = static_cast<int>(rows_.size() + candidates.size() * kinds_.size());
    }
    for (const Decisions& candidate : candidates) check_candidate(candidate);
    return std::move(rows_);
  }

 private:
  bool stopped() const { return options_.should_stop && options_.should_stop(); }

  // Default XLA's outputs of two runs, and beside the interpreter's; finds the kinds that apply.
  void check_default() {
    for (const InputKind kind : options_.kinds) {
      if (stopped()) return;
      OutputCheck found = guarded([&] { return session_.check_outputs({}, kind, options_.limit_s); });
      if (!found.applies) continue;
      kinds_.push_back(kind);
      const bool fails = found.outcome != Outcome::Ok && found.outcome != Outcome::Unverified;
      if (found.outcome == Outcome::Mismatch) found.note = "two runs of default XLA differ: " + found.note;
      if (fails) {
        found.note = "default XLA: " + found.note;
        found.outcome = Outcome::Unverified;
        unsound_[kind] = found.note;
      }
      add({{}, false, kind, {}, std::move(found), {}});
      if (options_.interpreter && !fails && !stopped())
        add({{}, true, kind, {}, guarded([&] { return session_.check_interpreter(kind, options_.limit_s); }), {}});
    }
  }

  void check_candidate(const Decisions& candidate) {
    std::string failed;  // on the first kind where it did
    Outcome outcome = Outcome::Ok;
    for (const InputKind kind : kinds_) {
      if (stopped()) return;
      OutputCheck found;
      if (const auto reason = unsound_.find(kind); reason != unsound_.end())
        found = {.outcome = Outcome::Unverified, .note = reason->second};
      else if (!failed.empty())
        found = {.outcome = outcome, .note = "not tried again: so on " + failed + " inputs"};
      else
        found = guarded([&] { return session_.check_outputs(candidate, kind, options_.limit_s); });
      if (failed.empty() && fails_everywhere(found.outcome)) {
        failed = input_kind_name(kind);
        outcome = found.outcome;
      }
      add({candidate, false, kind, {}, std::move(found), {}});
    }
  }

  // Default XLA may fail on these inputs, too.
  template <class Check>
  static OutputCheck guarded(Check&& check) {
    try {
      return check();
    } catch (const wire::NoWorker&) {
      throw;
    } catch (const RunError& failed) {
      return {.outcome = Outcome::Unverified, .note = failed.what()};
    } catch (const Error& refused) {  // a decision that does not fit the program
      return {.outcome = Outcome::CompileFailed, .note = refused.what()};
    }
  }

  void add(VerifyRow row) {
    row.status = status_of(row);
    options_.on_row(row);
    rows_.push_back(std::move(row));
    options_.on_progress(static_cast<int>(rows_.size()), pairs_);
  }

  tune::Session& session_;
  const VerifyOptions& options_;
  std::vector<VerifyRow> rows_;
  std::vector<InputKind> kinds_;
  std::map<InputKind, std::string> unsound_;  // kinds on which default XLA fails, and why
  int pairs_ = 0;                             // 0 = not known yet
};

std::string quoted(const std::string& word) {
  if (!word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,-") ==
                           std::string::npos)
    return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

const char* verify_status_name(VerifyStatus status) { return kNames.at(static_cast<size_t>(status)); }

bool is_fault(VerifyStatus status) { return status == VerifyStatus::Differs || status > VerifyStatus::Unverifiable; }

json to_json(const VerifyRow& row, uint64_t seed) {
  const OutputCheck& check = row.check;
  const bool ran = check.elements > 0;
  return {{"against", row.interpreter ? "interpreter" : "default"},
          {"decisions", to_text(row.decisions)},
          {"inputs", input_kind_name(row.inputs)},
          {"seed", seed},
          {"status", verify_status_name(row.status)},
          {"note", check.note},
          {"max_error", ran ? json(check.max_error) : json(nullptr)},
          {"elements", check.elements},
          {"differing", check.differing},
          {"differing_special", check.special},
          {"output", check.output < 0 ? json(nullptr) : json(check.output)},
          {"index", check.index},
          {"expected", check.expected},
          {"found", check.found},
          {"reproducer", row.reproducer.empty() ? json(nullptr) : json(row.reproducer)}};
}

std::vector<VerifyRow> verify(tune::Session& session, const VerifyOptions& options) {
  return Verification(session, options).run();
}

void write_reproducer(const std::string& folder, const OpenedProgram& opened, const VerifyRow& row) {
  namespace fs = std::filesystem;
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw RunError("the folder cannot be made: " + failed.message(), folder, "name another with -o");
  const tune::Target& target = opened.session->target();
  fs::path file = opened.file.package ? "program.pb" : fs::path(opened.file.file);
  if (file.extension() == ".gz") file.replace_extension();  // the bytes are unpacked
  const std::string name = "program" + file.extension().string();
  const auto put = [&](const std::string& into, const std::string& text) {
    write_file((fs::path(folder) / into).string(), text);
  };
  put(name, opened.file.bytes);
  put("decisions.txt", to_text(row.decisions) + "\n");
  put("row.json", to_json(row, target.seed).dump(1) + "\n");
  std::string command = fmt::format("hone verify {} -n 0 --kinds {} --seed {} --threads {}", name,
                                    input_kind_name(row.inputs), target.seed, target.threads);
  if (!row.interpreter) command += " --decisions decisions.txt --no-interpreter";
  if (!target.weights.empty()) command += " --weights " + tune::index_list_text(target.weights);
  if (target.allow_fast_math) command += " --allow-fast-math";
  if (!target.max_isa.empty()) command += " --max-isa " + target.max_isa;
  if (opened.inputs != "generated" && opened.inputs != "snapshot")
    command += " --inputs " + quoted(fs::absolute(opened.inputs).string());
  put("command.txt", command + "\n");
}

}  // namespace hone::request
