#include "tune/program/confirm.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"

namespace hone::tune {

namespace {

constexpr double kSlowRunNs = 1e8;  // a run of a program whose trials are made of fewer rounds

DefaultRun measure_default(Measurer& measurer, double limit_s) {
  DefaultRun run;
  const Duel duel{.min_rounds = 3, .max_rounds = 5, .budget_ms = 500, .precision = 0.02, .limit_s = limit_s};
  const Measurement m = measurer.measure_program({}, {}, duel);
  if (m.outcome == Outcome::Unverified) {
    run.note = "the outputs of default XLA prove nothing on these inputs" + (m.note.empty() ? "" : ": " + m.note);
  } else if (!m.ok()) {
    throw RunError(fmt::format("default XLA cannot run this program ({}): {}", outcome_name(m.outcome), m.note));
  }
  run.measurement = m;
  run.measurement.rounds = std::max(1, m.rounds);
  const double budget_ms = std::clamp(60 * m.baseline_ns / 1e6, 300.0, 2000.0);
  const double compile_s = std::max(m.compile_ms, m.baseline_compile_ms) / 1e3;
  run.trial = {.min_rounds = m.baseline_ns > kSlowRunNs ? 3 : 5,
               .max_rounds = 60,
               .budget_ms = budget_ms,
               .precision = 0.008,
               .abandon_ratio = 0.93,
               .limit_s = 10 + 6 * compile_s + 3 * budget_ms / 1e3 + 60 * m.baseline_ns / 1e9};
  return run;
}

// As many as fit into these seconds, but so many that their spread says something.
int affordable_rounds(const Measurement& default_run, double seconds, int asked) {
  constexpr double kLeast = 6;
  return std::min(asked, static_cast<int>(std::clamp(seconds / (2 * default_run.baseline_ns / 1e9), kLeast, 1e6)));
}

// Takes the first candidate that is confirmed.
void confirm_first_that_holds(SearchRun& run, const std::vector<SearchRun::Found>& candidates,
                              const FinalDuels& duels) {
  const Measurement& default_run = run.default_run.measurement;
  const int processes =
      duels.seconds > 0 ? affordable_processes(default_run, duels.seconds, duels.processes) : duels.processes;
  run.result.measurement = against_itself(default_run);
  Duel effort = duels.effort;
  if (duels.seconds > 0)
    effort.min_rounds = affordable_rounds(default_run, duels.seconds / processes, effort.min_rounds);
  for (const SearchRun::Found& candidate : candidates) {
    run.say("confirmation");
    const Confirmation confirmation = confirm(run.measurer, candidate.decisions, effort, processes);
    for (const Measurement& duel : confirmation.duels)
      run.result.steps.push_back({"confirmation", duel, confirmation.holds});
    if (!confirmation.holds) continue;
    run.result.decisions = candidate.decisions;
    run.result.measurement = confirmation.combined;
    return;
  }
}

}  // namespace

DefaultRun measure_default(Measurer& measurer) { return measure_default(measurer, 600); }

DefaultRun measure_default_after_stop(Measurer& measurer) {
  constexpr double kPatienceSeconds = 10;
  try {
    return measure_default(measurer, kPatienceSeconds);
  } catch (const RunError&) {
    throw Stopped();
  }
}

Measurement against_itself(Measurement default_run) {
  default_run.candidate_ns = default_run.baseline_ns;
  default_run.ratio = default_run.ratio_low = default_run.ratio_high = 1;
  return default_run;
}

int affordable_processes(const Measurement& default_run, double seconds, int asked) {
  constexpr double kRuns = 4;
  const double compile_ms = std::max(default_run.compile_ms, default_run.baseline_compile_ms);
  const double each_s = 2 * (compile_ms / 1e3 + kRuns * default_run.baseline_ns / 1e9);
  return static_cast<int>(std::clamp(seconds / each_s, 1.0, static_cast<double>(asked)));
}

Confirmation confirm(Measurer& measurer, const Decisions& decisions, const Duel& effort, int processes) {
  Confirmation result;
  Measurement& all = result.combined;
  for (int i = 0; i < processes; ++i) {
    if (i > 0) measurer.fresh_process();
    const Measurement m = measurer.measure_program(decisions, {}, effort);
    result.duels.push_back(m);
    if (!m.ok()) {
      all = m;
      return result;
    }
    if (i == 0) {
      all = m;
    } else {
      const auto fold = [&](double& mean, double value) {
        mean = std::pow(mean, i / (i + 1.0)) * std::pow(value, 1 / (i + 1.0));
      };
      fold(all.ratio, m.ratio);
      fold(all.ratio_low, m.ratio_low);
      fold(all.ratio_high, m.ratio_high);
      fold(all.baseline_ns, m.baseline_ns);
      fold(all.candidate_ns, m.candidate_ns);
      all.rounds += m.rounds;
      all.max_error = std::max(all.max_error, m.max_error);
      all.interpreted = all.interpreted || m.interpreted;
    }
    if (m.ratio < kSlower) return result;
  }
  if (all.ratio_low < 1) return result;
  const Measurement others = verify_on_other_inputs(measurer, decisions, all);
  result.holds = others.ok();
  if (!others.ok()) result.duels.push_back(all = others);
  return result;
}

Measurement verify_on_other_inputs(Measurer& measurer, const Decisions& decisions, const Measurement& measured) {
  constexpr double kLeastSeconds = 10, kRuns = 50, kCompilations = 6;
  const double limit_s = kLeastSeconds + kRuns * measured.baseline_ns / 1e9 +
                         kCompilations * std::max(measured.compile_ms, measured.baseline_compile_ms) / 1e3;
  const auto passes = [&](Measurement& m, InputKind kind) {
    m = measurer.verify_on(decisions, kind, limit_s);
    return m.ok() || m.outcome == Outcome::Unverified;
  };
  Measurement m;
  const double start_s = steady_s();
  for (const InputKind kind : {InputKind::Special, InputKind::Large})
    if (!passes(m, kind)) return m;
  for (const InputKind kind : {InputKind::Indices, InputKind::Ties, InputKind::Zeros, InputKind::Denormal}) {
    const bool slow = measured.baseline_ns > kSlowRunNs || steady_s() - start_s > kLeastSeconds;
    if (slow) break;
    if (!passes(m, kind)) return m;
  }
  return {.outcome = Outcome::Ok};
}

ProgramResult confirm_decisions(Measurer& measurer, const Decisions& decisions, const Duel& effort) {
  measurer.begin_confirmation();
  ProgramResult result;
  result.measurement = measurer.measure_program(decisions, {}, effort);
  const Measurement& m = result.measurement;
  // The search confirmed the gain; this short duel only checks that it is still there.
  bool kept = m.ok() && (decisions.empty() || m.ratio_high >= 1);
  Measurement others{.outcome = Outcome::Ok};
  if (kept && !decisions.empty()) others = verify_on_other_inputs(measurer, decisions, m);
  kept = kept && others.ok();
  result.steps.push_back({"confirmation", others.ok() ? m : others, kept});
  if (!kept) return result;
  if (decisions.empty()) result.measurement = against_itself(m);
  result.decisions = decisions;
  result.lowered = measurer.lower(decisions, false);
  return result;
}

void mark_kept(ProgramResult& result) {
  for (KernelReport& kernel : result.kernels) {
    const Decision decision{kernel.decision, kernel.key, kernel.chosen};
    kernel.kept = std::find(result.decisions.begin(), result.decisions.end(), decision) != result.decisions.end();
  }
}

Measurement SearchRun::try_against_default(const std::string& what, const Decisions& decisions, double min_gain) {
  const Measurement m = measurer.measure_program(decisions, {}, default_run.trial);
  const bool kept = m.ok() && m.ratio_low > 1 && m.ratio > min_gain;
  if (kept) {
    found.push_back({decisions, m.ratio});
    gain = std::max(gain, m.ratio);
  }
  result.steps.push_back({what, m, kept});
  say(what);
  return m;
}

void search_and_confirm(SearchRun& run, const std::function<void()>& search, const FinalDuels& duels) {
  const auto know = [&](DefaultRun default_run) {
    run.result.note = default_run.note;
    run.default_run = std::move(default_run);
  };
  try {
    run.say("default XLA");
    know(measure_default(run.measurer));
    if (run.result.note.empty()) search();
  } catch (const Stopped&) {
    run.result.stopped = true;
  }
  run.result.stopped = run.result.stopped || run.measurer.seconds_left() <= 0;
  run.measurer.begin_confirmation();
  if (run.default_run.measurement.rounds == 0) know(measure_default_after_stop(run.measurer));
  std::vector<SearchRun::Found> candidates = run.found;
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.gain > b.gain; });
  if (candidates.size() > static_cast<size_t>(duels.candidates)) candidates.resize(duels.candidates);
  confirm_first_that_holds(run, candidates, duels);
}

}  // namespace hone::tune
