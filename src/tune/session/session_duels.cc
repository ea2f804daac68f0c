// The session's duels: candidates measured by the worker, recorded in the database and recalled from it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/log.h"
#include "base/scoped_flag.h"
#include "base/stage.h"
#include "tune/session/decision_list.h"
#include "tune/session/replies.h"
#include "tune/session/session.h"
#include "wire/despite_kills.h"

namespace hone::tune {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// What a request measures, for the log.
std::string log_name(const wire::MeasureRequestT& request) {
  if (!request.operation.empty()) return "operation " + to_text(wire::from_wire(request.decisions));
  if (request.kernel_hlo.empty()) return "program " + to_text(wire::from_wire(request.decisions));
  return "kernel " + request.kernel_value;
}

Measurement failure(Outcome outcome, const Error& error, Stage stage = Stage::None) {
  Measurement m{.outcome = outcome, .stage = stage};
  m.note = error.what();
  return m;
}

Record row_about(const char* scope, const std::string& decisions, const std::string& note) {
  Record row;
  row.scope = scope;
  row.decisions = decisions;
  row.note = note;
  return row;
}

// What the cache of compiled code did for a measurement; nothing without one.
std::string code_text(const wire::MeasureReplyT& reply) {
  if (!reply.code) return "";
  const wire::CodeCountsT& code = *reply.code;
  return fmt::format(" ({} modules compiled, {} not, which saved {:.0f} ms)", code.compiled,
                     code.reused + code.linked + code.relinked, code.saved_ms);
}

constexpr char kInvalidTimes[] = "the worker's times are not valid";

bool timed(const Measurement& m) {
  const auto sound = [](double value) { return std::isfinite(value) && value > 0; };
  return sound(m.ratio) && sound(m.ratio_low) && sound(m.ratio_high) && sound(m.baseline_ns) && sound(m.candidate_ns) &&
         m.ratio_low <= m.ratio && m.ratio <= m.ratio_high && m.rounds > 0;
}

// A kernel's measurement in a program whose outputs were verified.
Measurement in_place_of(const Measurement& program, const wire::KernelTimesT& times) {
  Measurement m = program;
  m.baseline_ns = times.baseline_ns;
  m.candidate_ns = times.candidate_ns;
  m.ratio = times.ratio;
  m.ratio_low = times.ratio_low;
  m.ratio_high = times.ratio_high;
  m.rounds = times.rounds;
  m.compile_ms = m.baseline_compile_ms = 0;  // unknown
  m.note = "in the program";
  if (timed(m)) return m;
  m.outcome = Outcome::RunFailed;
  m.stage = Stage::Run;
  m.note = times.rounds == 0 ? "not seen in every run" : kInvalidTimes;
  return m;
}

}  // namespace

Measurement Session::duel(wire::MeasureRequestT request, const Duel& duel, std::vector<Measurement>* in_place) {
  request.target = wire_target();
  request.min_rounds = duel.min_rounds;
  request.max_rounds = duel.max_rounds;
  request.budget_ms = duel.budget_ms;
  request.precision = duel.precision;
  request.abandon_ratio = duel.abandon_ratio;
  request.cpu = measuring_cpu_;
  request.cold = duel.cold;
  request.patience_ms = duel.patience_ms;
  request.core_ns = core_best_.ns();
  const auto start = Clock::now();
  const std::string what = log_name(request);
  const bool default_alone =
      request.kernel_hlo.empty() && request.operation.empty() && request.decisions.empty() && request.baseline.empty();
  const ScopedFlag no_limit(beyond_budget_, default_alone);  // every result needs default XLA's measurement
  killed_ = false;
  try {
    const auto reply = worker_.call<wire::MeasureReplyT>(std::move(request), duel.limit_s);
    Measurement m = measurement_of(reply);
    if (m.core_ns > 0) core_best_.note(m.core_ns);
    if (m.ok() && !timed(m)) {
      m.outcome = Outcome::RunFailed;
      m.stage = Stage::Run;
      m.note = kInvalidTimes;
    }
    for (size_t i = 0; in_place && m.ok() && i < std::min(in_place->size(), reply.in_place.size()); ++i)
      (*in_place)[i] = in_place_of(m, *reply.in_place[i]);
    spdlog::debug(
        "{}: {} {:.3f}x [{:.3f}, {:.3f}] of {:.4f} ms, {} rounds, compiled in {:.0f} ms{}, {:.0f} ms in all, worker {} "
        "MiB{}",
        what, outcome_name(m.outcome), m.ratio, m.ratio_low, m.ratio_high, m.baseline_ns / 1e6, m.rounds, m.compile_ms,
        code_text(reply), 1e3 * Seconds(Clock::now() - start).count(), reply.rss_bytes >> 20,
        m.note.empty() ? "" : ": " + m.note);
    return m;
  } catch (const wire::WorkerFailure& died) {
    const bool late = died.kind() == wire::WorkerFailure::Kind::TimedOut;
    killed_ = died.kind() == wire::WorkerFailure::Kind::Killed;
    return failure(late ? Outcome::TimedOut : Outcome::Crashed, died);
  } catch (const wire::NoWorker&) {
    throw;                              // ends the run: every candidate would count as crashed
  } catch (const StageError& failed) {  // default XLA itself, or the baseline
    return failure(outcome_of(wire::verdict_of(failed.stage())), failed, failed.stage());
  } catch (const RunError& failed) {
    return failure(Outcome::RunFailed, failed);
  } catch (const Error& refused) {  // a decision that does not fit the program
    return failure(Outcome::CompileFailed, refused);
  }
}

Measurement Session::measure_kernel(const Kernel& kernel, const std::string& value, const Duel& effort) {
  wire::MeasureRequestT request;
  if (kernel.dimension.kind == DecisionKind::Rewrite) {
    request =
        program_request(merged(kernel.under, {{DecisionKind::Rewrite, kernel.dimension.key, value}}), kernel.under);
    request.operation = kernel.dimension.key;
  } else {
    request.kernel_hlo = kernel.hlo;
    request.kernel_value = value;
  }
  const Measurement m = duel(std::move(request), effort);
  record_kernel(kernel, value, m, kernel_scope(effort.cold));
  return m;
}

std::vector<std::string> Session::compiled_code(const Kernel& kernel, const std::string& value) {
  wire::CompileRequestT request;
  request.kernel_hlo = kernel.hlo;
  request.kernel_value = value;
  request.target = wire_target();
  const auto reply = worker_.call<wire::CompileReplyT>(std::move(request), Duel{}.limit_s);
  std::vector<std::string> objects;
  for (const auto& object : reply.objects) objects.emplace_back(object->bytes.begin(), object->bytes.end());
  return objects;
}

Measurement Session::measure_program(const Decisions& candidate, const Decisions& baseline, const Duel& effort) {
  const bool interpret = confirming_ && !candidate.empty() && interpreted_.insert(to_text(candidate)).second;
  const auto once = [&] {
    wire::MeasureRequestT request = program_request(candidate, baseline);
    request.check_evaluator = interpret;
    return duel(std::move(request), effort);
  };
  Measurement m = once();
  // Default XLA and the final duels are repeated when the worker was killed from outside: they decide the whole run.
  for (int kills = 1; killed_ && kills < wire::kKills && (candidate.empty() || confirming_); ++kills) m = once();
  if (!candidate.empty()) record_program(candidate, baseline, m);
  return m;
}

InPlaceDuel Session::measure_in_place(const Decisions& candidate, const Decisions& baseline,
                                      const std::vector<const Kernel*>& kernels, const Duel& effort) {
  wire::MeasureRequestT request = program_request(candidate, baseline);
  for (const Kernel* kernel : kernels) {
    auto names = std::make_unique<wire::KernelInstructionsT>();
    names->names = kernel->instructions;
    request.in_place.push_back(std::move(names));
  }
  InPlaceDuel found;
  found.kernels.resize(kernels.size());
  found.program = duel(std::move(request), effort, &found.kernels);
  record_program(candidate, baseline, found.program);
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!found.program.ok()) found.kernels[i] = found.program;
    if (found.program.ok()) record_kernel(*kernels[i], value_of(candidate, *kernels[i]), found.kernels[i]);
  }
  return found;
}

wire::MeasureRequestT Session::program_request(const Decisions& candidate, const Decisions& baseline) const {
  wire::MeasureRequestT request;
  request.program = program_.program;
  request.decisions = wire::to_wire(candidate);
  request.baseline = wire::to_wire(baseline);
  return request;
}

void Session::record_program(const Decisions& candidate, const Decisions& baseline, const Measurement& m) {
  count(to_text(candidate), m);
  Record row = row_about("program", to_text(candidate), m.note);
  row.baseline = to_text(baseline);
  record(std::move(row), m);
}

void Session::record_kernel(const Kernel& kernel, const std::string& value, const Measurement& m, const char* scope) {
  count(kernel.fingerprint + "=" + value, m);
  Record row = row_about(scope, value, m.note);
  row.kernel = kernel.fingerprint;
  record(std::move(row), m);
}

void Session::count(const std::string& candidate, const Measurement& m) {
  if (!counted_.insert(candidate).second) return;
  ++counters_.candidates;
  if (m.rejected())
    ++counters_.rejected;
  else if (!m.ok())
    ++counters_.failed;
}

void Session::record(Record row, const Measurement& m) {
  if (!database_) return;
  row.program = program_.program;
  row.stage = stage_name(m.stage);
  row.status = outcome_name(m.outcome);
  // The database has no row for unverified outputs without times.
  if (m.outcome == Outcome::Unverified && !timed(m)) row.status = outcome_name(Outcome::RunFailed);
  row.verified = m.ok();
  if (timed(m)) {
    row.baseline_ns = m.baseline_ns;
    row.candidate_ns = m.candidate_ns;
    row.ratio = m.ratio;
    row.ratio_low = m.ratio_low;
    row.ratio_high = m.ratio_high;
    row.rounds = m.rounds;
    row.core_ns = m.core_ns;
    row.stolen_ms = m.stolen_ms;
  }
  row.compile_ms = std::isfinite(m.compile_ms) ? std::max(0.0, m.compile_ms) : 0;
  row.max_error = m.max_error >= 0 ? m.max_error : std::numeric_limits<double>::infinity();
  row.host = host();
  row.threads = options_.target.threads;
  row.seed = options_.target.seed;
  row.xla_version = worker_info().xla_version;
  database_->add(row);
}

KnownKernel Session::known(const Kernel& kernel) {
  KnownKernel known;
  if (!database_ || !reuse_kernels_) return known;
  const std::vector<Record> rows =
      database_->find_kernel(kernel.fingerprint, host(), options_.target.threads, worker_info().xla_version);
  for (const Record& row : rows) {
    Measurement m = measurement_of(row);
    if (row.finished) {
      m.note.clear();  // about the search, not about the measurement
      known.best = {row.decisions, m};
    } else if (m.outcome != Outcome::Crashed && m.outcome != Outcome::TimedOut) {
      // A worker that died may have been killed from outside, so the option is tried again. The last row of a value
      // counts.
      known.measured[row.decisions] = m;
    }
  }
  return known;
}

void Session::remember(const Kernel& kernel, const KnownKernel::Best& best) {
  Record row = row_about("kernel", best.value, "");
  row.kernel = kernel.fingerprint;
  row.finished = true;
  record(std::move(row), best.measurement);
}

}  // namespace hone::tune
