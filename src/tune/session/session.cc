#include "tune/session/session.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/interrupt.h"
#include "base/log.h"
#include "base/text.h"
#include "wire/despite_kills.h"

namespace hone::tune {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kInterruptGraceSeconds = 2;  // for the candidate in flight, so that the worker keeps what it compiled
constexpr double kOvertime = 0.1;             // of the budget, the same at its end
constexpr double kNoLimitSeconds = 1e9;       // finite: budgets are subtracted from it
constexpr double kRunLimitSeconds = 3600;     // of all runs that a user asked for
constexpr char kFinished[] = "best of a finished search";

using wire::despite_kills;
using wire::kKills;

// A flag that has a value until the end of a scope.
class Held {
 public:
  Held(bool& flag, bool value) : flag_(flag), before_(std::exchange(flag, value)) {}
  Held(const Held&) = delete;
  ~Held() { flag_ = before_; }

 private:
  bool& flag_;
  bool before_;
};

// A request about the loaded program under decisions.
template <class Request>
Request request_about(const wire::LoadReplyT& program, std::unique_ptr<wire::TargetT> target,
                      const Decisions& decisions) {
  Request request;
  request.program = program.program;
  request.target = std::move(target);
  request.decisions = wire::to_wire(decisions);
  return request;
}

// What a request measures, for the log.
std::string log_name(const wire::MeasureRequestT& request) {
  if (request.kernel_hlo.empty()) return "program " + to_text(wire::from_wire(request.decisions));
  return "kernel " + request.kernel_value;
}

std::unique_ptr<wire::ArrayT> to_wire_array(NamedArray array) {
  auto result = std::make_unique<wire::ArrayT>();
  result->type = std::move(array.type);
  result->dims = std::move(array.dims);
  result->data = std::move(array.bytes);
  return result;
}

Kernel kernel_from_wire(const wire::KernelT& from) {
  Kernel kernel;
  kernel.fingerprint = from.fingerprint;
  kernel.name = from.name;
  kernel.kind = from.kind;
  kernel.count = std::max(1, from.count);
  kernel.hlo = from.hlo;
  kernel.flops = from.flops;
  kernel.bytes = from.bytes;
  kernel.bytes_read = from.bytes_read;
  kernel.bytes_written = from.bytes_written;
  kernel.transcendentals = from.transcendentals;
  kernel.module.assign(from.module_proto.begin(), from.module_proto.end());
  kernel.default_tile = from.default_tile;
  if (from.dimension) kernel.dimension = wire::from_wire(*from.dimension);
  return kernel;
}

Lowered lowered_from_wire(const wire::LowerReplyT& reply) {
  Lowered lowered;
  lowered.fingerprint = reply.fingerprint;
  lowered.hlo = reply.hlo;
  lowered.instructions = reply.instructions;
  for (const auto& kernel : reply.kernels) lowered.kernels.push_back(kernel_from_wire(*kernel));
  std::erase_if(lowered.kernels, [](const Kernel& k) { return k.dimension.options.empty(); });
  for (const auto& dimension : reply.dimensions) lowered.dimensions.push_back(wire::from_wire(*dimension));
  return lowered;
}

// Outputs that do not pass differ from default XLA's (an error above 1 tolerance) or from the interpreter's, which the
// note says; or they prove nothing: all NaN, all equal.
Outcome outcome_of(const wire::MeasureReplyT& reply) {
  if (reply.verified) return Outcome::Ok;
  const bool differs = !(reply.max_error <= 1) || reply.note.find("differ") != std::string::npos;
  return differs ? Outcome::Mismatch : Outcome::Unverified;
}

Measurement measurement_of(const wire::MeasureReplyT& reply) {
  return {.outcome = outcome_of(reply),
          .baseline_ns = reply.baseline_ns,
          .candidate_ns = reply.candidate_ns,
          .ratio = reply.ratio,
          .ratio_low = reply.ratio_low,
          .ratio_high = reply.ratio_high,
          .rounds = reply.rounds,
          .compile_ms = reply.compile_ms,
          .baseline_compile_ms = reply.baseline_compile_ms,
          .max_error = reply.max_error,
          .interpreted = reply.evaluator_checked,
          .note = reply.note};
}

Measurement failure(Outcome outcome, const Error& error) {
  Measurement m{.outcome = outcome};
  m.note = error.what();
  return m;
}

void append_content(std::string& content, const std::string& type, const std::vector<uint8_t>& bytes) {
  content += fmt::format("{} {} ", type, bytes.size());
  content.append(bytes.begin(), bytes.end());
}

// A worker's messages begin with what it was doing.
bool compiler_failed(const std::string& message) {
  return message.rfind("HLO passes", 0) == 0 || message.rfind("code generation", 0) == 0;
}

bool timed(const Measurement& m) {
  const auto sound = [](double value) { return std::isfinite(value) && value > 0; };
  return sound(m.ratio) && sound(m.ratio_low) && sound(m.ratio_high) && sound(m.baseline_ns) && sound(m.candidate_ns) &&
         m.ratio_low <= m.ratio && m.ratio <= m.ratio_high && m.rounds > 0;
}

}  // namespace

void Target::validate() const {
  if (threads < 1 || threads > 1024) throw Error(fmt::format("{} threads make no sense", threads), "--threads");
}

std::string index_list_text(const std::vector<int>& indices) {
  std::string text;
  for (size_t i = 0; i < indices.size();) {
    size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(indices[i]);
    if (end - i > 1) text += (end - i > 2 ? "-" : ",") + std::to_string(indices[end - 1]);
    i = end;
  }
  return text;
}

Session::Session(SessionOptions options)
    : options_(std::move(options)), worker_(options_.worker), start_(Clock::now()) {
  options_.target.validate();
  worker_.on_wait([this] { poll(); });
}

void Session::poll() {
  if (confirming_) return;
  const auto now = Clock::now();
  if (interrupted() && !interrupted_at_) interrupted_at_ = now;
  if (interrupted_at_ && Seconds(now - *interrupted_at_).count() > kInterruptGraceSeconds) throw Stopped();
  const double spent = Seconds(now - start_).count();
  if (options_.budget_s > 0 && !beyond_budget_ && spent > options_.budget_s * (1 + kOvertime)) throw Stopped();
}

void Session::use_database(Database& database, bool reuse_kernels) {
  database_ = &database;
  reuse_kernels_ = reuse_kernels;
}

void Session::begin_search() {
  confirming_ = false;
  start_ = Clock::now();
}

double Session::seconds_left() const {
  if (interrupted()) return 0;
  if (options_.budget_s <= 0) return kNoLimitSeconds;
  return std::max(0.0, options_.budget_s - Seconds(Clock::now() - start_).count());
}

const wire::HelloReplyT& Session::worker_info() {
  if (!info_) info_ = despite_kills([&] { return worker_.call<wire::HelloReplyT>(wire::HelloRequestT{}); });
  return *info_;
}

std::string Session::host() { return fmt::format("{}, {} cores", worker_info().cpu, worker_info().cores); }

void Session::load(const std::string& bytes, const std::string& name) {
  const Held held(beyond_budget_, true);  // a search that has nothing to search would be stopped before it began
  worker_info();  // said once per process and needed for every record; never while a candidate is in flight
  try {
    program_ = despite_kills([&] {
      wire::LoadRequestT request;
      request.bytes.assign(bytes.begin(), bytes.end());
      request.name = name;
      return worker_.call<wire::LoadReplyT>(std::move(request));
    });
  } catch (const wire::WorkerFailure& died) {
    // XLA aborts on some programs that parse: for the user that is an input it cannot read.
    throw Error(std::string("XLA cannot load this program: ") + died.what(), name);
  }
  name_ = name;
  std::string snapshot;
  for (const auto& array : program_.snapshot_inputs) append_content(snapshot, array->type, array->data);
  if (!snapshot.empty()) inputs_fingerprint_ = hash_hex(snapshot);
  for (int weight : options_.target.weights)
    if (weight < 0 || weight >= static_cast<int>(program_.parameters.size()))
      throw Error(fmt::format("parameter {} does not exist: the program has {}", weight, program_.parameters.size()),
                  "--weights");
}

void Session::set_inputs(std::vector<NamedArray> arrays) {
  const size_t count = program_.parameters.size();
  if (arrays.size() != count)
    throw Error(fmt::format("{} arrays given, the program has {} parameters", arrays.size(), count), "--inputs",
                "give one array per parameter: arr_0, arr_1, ...");
  std::vector<const NamedArray*> ordered(count, nullptr);
  for (size_t i = 0; i < count; ++i) {
    const std::string positional = "arr_" + std::to_string(i);
    for (const NamedArray& array : arrays)
      if (array.name == positional) ordered[i] = &array;
  }
  const bool by_name = std::none_of(ordered.begin(), ordered.end(), [](auto* a) { return a == nullptr; });
  wire::InputsRequestT request;
  request.program = program_.program;
  std::string content;
  for (size_t i = 0; i < count; ++i) {
    const NamedArray& array = by_name ? *ordered[i] : arrays[i];
    append_content(content, array.type, array.bytes);
    request.inputs.push_back(to_wire_array(array));
  }
  worker_.call<wire::InputsReplyT>(std::move(request));
  inputs_fingerprint_ = hash_hex(content);
}

std::unique_ptr<wire::TargetT> Session::wire_target() const {
  auto target = std::make_unique<wire::TargetT>();
  target->threads = options_.target.threads;
  target->seed = options_.target.seed;
  target->allow_fast_math = options_.target.allow_fast_math;
  target->weights = options_.target.weights;
  return target;
}

wire::LowerReplyT Session::lower_reply(const Decisions& decisions, bool want_fusion, bool want_protos, bool want_hlo) {
  return despite_kills([&] {
    auto request = request_about<wire::LowerRequestT>(program_, wire_target(), decisions);
    request.want_hlo = want_hlo;
    request.want_kernels = true;
    request.want_fusion = want_fusion;
    request.want_protos = want_protos;
    return worker_.call<wire::LowerReplyT>(std::move(request));
  });
}

Lowered Session::lower(const Decisions& decisions, bool want_fusion) {
  return lowered_from_wire(lower_reply(decisions, want_fusion, /*want_protos=*/true));
}

Lowered Session::lower_kernels(const Decisions& decisions) {
  const auto reply = lower_reply(decisions, /*want_fusion=*/false, /*want_protos=*/true, /*want_hlo=*/false);
  Lowered lowered;
  lowered.instructions = reply.instructions;
  std::string contents;
  for (const auto& kernel : reply.kernels) {
    contents += fmt::format("{}*{},", kernel->fingerprint, kernel->count);
    auto known = described_.find(kernel->fingerprint);
    if (kernel->dimension || known == described_.end())
      known = described_.insert_or_assign(kernel->fingerprint, kernel_from_wire(*kernel)).first;
    if (known->second.dimension.options.empty()) continue;
    lowered.kernels.push_back(known->second);
    if (!kernel->name.empty()) lowered.kernels.back().name = kernel->name;
    lowered.kernels.back().count = std::max(1, kernel->count);
  }
  lowered.fingerprint = hash_hex(contents);
  return lowered;
}

wire::RunReplyT Session::run(const Decisions& decisions, int repeat, bool want_outputs) {
  return despite_kills([&] {
    auto request = request_about<wire::RunRequestT>(program_, wire_target(), decisions);
    request.repeat = repeat;
    request.want_outputs = want_outputs;
    return worker_.call<wire::RunReplyT>(std::move(request), kRunLimitSeconds);
  });
}

wire::RunReplyT Session::profile(const Decisions& decisions, int runs) {
  return despite_kills([&] {
    auto request = request_about<wire::RunRequestT>(program_, wire_target(), decisions);
    request.repeat = runs;
    request.profile = true;
    return worker_.call<wire::RunReplyT>(std::move(request), kRunLimitSeconds);
  });
}

Measurement Session::duel(wire::MeasureRequestT request, const Duel& duel) {
  request.target = wire_target();
  request.min_rounds = duel.min_rounds;
  request.max_rounds = duel.max_rounds;
  request.budget_ms = duel.budget_ms;
  request.precision = duel.precision;
  request.abandon_ratio = duel.abandon_ratio;
  const auto start = Clock::now();
  const std::string what = log_name(request);
  const bool default_alone = request.kernel_hlo.empty() && request.decisions.empty() && request.baseline.empty();
  const Held held(beyond_budget_, default_alone);  // without it there is no result
  killed_ = false;
  try {
    const auto reply = worker_.call<wire::MeasureReplyT>(std::move(request), duel.limit_s);
    Measurement m = measurement_of(reply);
    if (m.ok() && !timed(m)) {
      m.outcome = Outcome::RunFailed;
      m.note = "the worker's times make no sense";
    }
    spdlog::debug(
        "{}: {} {:.3f}x [{:.3f}, {:.3f}] of {:.4f} ms, {} rounds, compiled in {:.0f} ms, {:.0f} ms in all, worker {} "
        "MiB{}",
        what, outcome_name(m.outcome), m.ratio, m.ratio_low, m.ratio_high, m.baseline_ns / 1e6, m.rounds, m.compile_ms,
        1e3 * Seconds(Clock::now() - start).count(), reply.rss_bytes >> 20, m.note.empty() ? "" : ": " + m.note);
    return m;
  } catch (const wire::WorkerFailure& died) {
    const bool late = died.kind() == wire::WorkerFailure::Kind::TimedOut;
    killed_ = died.kind() == wire::WorkerFailure::Kind::Killed;
    return failure(late ? Outcome::TimedOut : Outcome::Crashed, died);
  } catch (const wire::NoWorker&) {
    throw;  // ends the run: every candidate would be taken for one that crashes
  } catch (const RunError& failed) {
    return failure(compiler_failed(failed.what()) ? Outcome::CompileFailed : Outcome::RunFailed, failed);
  } catch (const Error& refused) {  // a decision that does not fit the program
    return failure(Outcome::CompileFailed, refused);
  }
}

Measurement Session::measure_kernel(const Kernel& kernel, const std::string& value, const Duel& effort) {
  wire::MeasureRequestT request;
  request.kernel_hlo = kernel.hlo;
  request.kernel_value = value;
  const Measurement m = duel(std::move(request), effort);
  count(kernel.fingerprint + "=" + value, m);
  record("kernel", kernel.fingerprint, value, m, m.note);
  return m;
}

Measurement Session::measure_program(const Decisions& candidate, const Decisions& baseline, const Duel& effort) {
  const bool interpret = confirming_ && !candidate.empty() && interpreted_.insert(to_text(candidate)).second;
  const auto once = [&] {
    wire::MeasureRequestT request;
    request.program = program_.program;
    request.decisions = wire::to_wire(candidate);
    request.baseline = wire::to_wire(baseline);
    request.check_evaluator = interpret;
    return duel(std::move(request), effort);
  };
  Measurement m = once();
  // Default XLA and the final duels are no candidates: a worker killed from outside must not decide them.
  for (int kills = 1; killed_ && kills < kKills && (candidate.empty() || confirming_); ++kills) m = once();
  if (!candidate.empty()) count(to_text(candidate), m);
  // Rows of the database compare with default XLA; a duel against another baseline says so in its note.
  std::string note = m.note;
  if (!baseline.empty()) note = "against " + to_text(baseline) + (note.empty() ? "" : "; " + note);
  if (!candidate.empty()) record("program", "", to_text(candidate), m, note);
  return m;
}

void Session::count(const std::string& candidate, const Measurement& m) {
  if (!counted_.insert(candidate).second) return;
  ++counters_.candidates;
  if (m.rejected())
    ++counters_.rejected;
  else if (!m.ok())
    ++counters_.failed;
}

void Session::record(const std::string& scope, const std::string& kernel, const std::string& decisions,
                     const Measurement& m, const std::string& note) {
  if (!database_) return;
  Record row;
  row.scope = scope;
  row.program = program_.program;
  row.kernel = kernel;
  row.decisions = decisions;
  row.status = outcome_name(m.outcome);
  // Outputs that prove nothing and were not timed either make no row of their kind.
  if (m.outcome == Outcome::Unverified && !timed(m)) row.status = outcome_name(Outcome::RunFailed);
  row.verified = m.ok();
  if (timed(m)) {
    row.baseline_ns = m.baseline_ns;
    row.candidate_ns = m.candidate_ns;
    row.ratio = m.ratio;
    row.ratio_low = m.ratio_low;
    row.ratio_high = m.ratio_high;
    row.rounds = m.rounds;
  }
  row.compile_ms = std::isfinite(m.compile_ms) ? std::max(0.0, m.compile_ms) : 0;
  row.max_error = m.max_error >= 0 ? m.max_error : std::numeric_limits<double>::infinity();
  row.note = note;
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
    Measurement m{.outcome = outcome_from_name(row.status),
                  .baseline_ns = row.baseline_ns,
                  .candidate_ns = row.candidate_ns,
                  .ratio = row.ratio,
                  .ratio_low = row.ratio_low,
                  .ratio_high = row.ratio_high,
                  .rounds = row.rounds,
                  .compile_ms = row.compile_ms,
                  .max_error = row.max_error,
                  .note = row.note};
    if (row.note == kFinished) {
      m.note.clear();
      known.best = {row.decisions, m};
    } else if (m.outcome != Outcome::Crashed && m.outcome != Outcome::TimedOut) {
      // A worker that died may have been killed from outside: worth another try. The last row of a value counts.
      known.measured[row.decisions] = m;
    }
  }
  return known;
}

void Session::remember(const Kernel& kernel, const KnownKernel::Best& best) {
  record("kernel", kernel.fingerprint, best.value, best.measurement, kFinished);
}

}  // namespace hone::tune
