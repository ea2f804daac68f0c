#include "request/known_result.h"

#include <fmt/core.h>

#include "base/interrupt.h"
#include "base/json_text.h"
#include "base/log.h"

namespace hone::request {

namespace {

// A known result must still win the short duel, or the longer one if it does not.
constexpr tune::Duel kReconfirm{
    .min_rounds = 9, .max_rounds = 40, .budget_ms = 1500, .precision = 0.01, .limit_s = 300};
constexpr tune::Duel kReconfirmLonger{
    .min_rounds = 25, .max_rounds = 100, .budget_ms = 6000, .precision = 0.004, .limit_s = 300};

}  // namespace

Tuned result_key(tune::Session& session, bool fusion, const std::set<DecisionKind>& kinds) {
  const tune::Target& target = session.target();
  Tuned key;
  key.program = session.program().program;
  key.host = session.host();
  key.threads = target.threads;
  key.weights = tune::index_list_text(target.weights);
  key.xla_version = session.worker_info().xla_version;
  key.options =
      fmt::format("fast_math={};fusion={};seed={};inputs={}", int{target.allow_fast_math}, int{fusion}, target.seed,
                  session.inputs_fingerprint().empty() ? "generated" : session.inputs_fingerprint());
  if (target.exact) key.options += ";exact";
  for (DecisionKind kind : kinds) key.options += std::string(";decides=") + decision_kind_name(kind);
  return key;
}

std::optional<tune::ProgramResult> known_result(const Database& database, const Tuned& key, tune::Measurer& bench) {
  const std::optional<Tuned> known = database.find_tuned(key);
  if (!known) return std::nullopt;
  const auto list = nlohmann::json::parse(shallow_json(known->decisions), nullptr, /*allow_exceptions=*/false);
  const Decisions decisions = report::decisions_from_list(list, "the database");
  tune::ProgramResult result;
  for (const tune::Duel& duel : {kReconfirm, kReconfirmLonger, kReconfirmLonger}) {
    bench.fresh_process();  // the memory addresses of one process can make the result look slower
    result = tune::confirm_decisions(bench, decisions, duel);
    if (!result.steps.back().kept) continue;
    spdlog::info("known from the database ({:.0f} s of search, {} candidates); --fresh searches again", known->seconds,
                 known->candidates);
    result.kernels = tune::known_kernels(result.lowered.kernels, bench);
    tune::mark_kept(result);
    return result;
  }
  spdlog::info("the result in the database is no longer faster: searching again");
  return std::nullopt;
}

void remember_result(Database& database, Tuned key, const report::TuneReport& report) {
  if (interrupted() || !report.verified) return;
  key.decisions = report::decisions_list(report.decisions).dump();
  key.default_ns = report.default_ns;
  key.tuned_ns = report.tuned_ns;
  key.speedup = report.speedup;
  key.speedup_low = report.speedup_low;
  key.speedup_high = report.speedup_high;
  key.verified = report.verified;
  key.candidates = report.counters.candidates;
  key.seconds = report.seconds;
  key.seed = report.target.seed;
  database.save_tuned(key);
}

}  // namespace hone::request
