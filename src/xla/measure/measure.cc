#include "measure/measure.h"

#include <sched.h>

#include <ctime>
#include <tuple>

#include "absl/strings/str_format.h"
#include "base/core_probe.h"
#include "base/stats.h"
#include "status.h"
#include "tsl/profiler/lib/traceme.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

double now_ns(bool cpu) {
  timespec t;
  clock_gettime(cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

double tolerance_of(xla::PrimitiveType type) {
  switch (type) {
    case xla::F64:
    case xla::C128:
      return 1024 * 0x1p-52;
    case xla::BF16:
      return 16 * 0x1p-8;
    case xla::F16:
      return 16 * 0x1p-11;
    case xla::F32:
    case xla::C64:
      return 1024 * 0x1p-23;
    default:
      return 0;
  }
}

// The smallest normal number where XLA:CPU flushes what is below it, else 0: f16 is computed in f32.
double flushed_below(xla::PrimitiveType type) {
  switch (type) {
    case xla::F64:
    case xla::C128:
      return 0x1p-1022;
    case xla::F32:
    case xla::BF16:
    case xla::C64:
      return 0x1p-126;
    default:
      return 0;
  }
}

// Keeps the first difference, and counts all.
void note_difference(Comparison& out, int64_t position, bool special, const auto& describe) {
  ++out.differing;
  out.differing_special += special;
  if (out.position >= 0) return;
  out.position = position;
  std::tie(out.expected, out.found) = describe();
}

template <class T>
void compare_floats(const xla::Literal& reference, const xla::Literal& candidate, double tolerance, Comparison& out) {
  const auto a = reference.data<T>(), b = candidate.data<T>();
  double sum = 0;
  size_t finite = 0, nans = 0;
  bool all_equal = true;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]);
    if (std::isnan(x)) ++nans;
    if (std::isfinite(x)) sum += x * x, ++finite;
    all_equal = all_equal && (x == static_cast<double>(a[0]));
  }
  const double rms = finite ? std::sqrt(sum / finite) : 0;
  const double flushed = flushed_below(reference.shape().element_type());
  if (finite == 0 && !a.empty()) {
    out.note = nans == a.size() ? "an output is all NaN" : "an output has no finite value";
    ++out.dead;
  } else if (a.size() > 1 && all_equal) {
    out.note = "an output is all equal";
  } else {
    ++out.live;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const bool special = !std::isfinite(x) || !std::isfinite(y);
    if (!special && std::fabs(x - y) < flushed) continue;
    const double error = special ? INFINITY : std::fabs(x - y) / (tolerance * (rms + std::fabs(x)) + 1e-300);
    out.max_error = std::max(out.max_error, error);
    if (error > out.most)
      note_difference(out, i, special,
                      [&] { return std::pair(absl::StrFormat("%.9g", x), absl::StrFormat("%.9g", y)); });
  }
}

// Integers and predicates, by their bytes.
void compare_bytes(const xla::Literal& reference, const xla::Literal& candidate, Comparison& out) {
  const char* a = static_cast<const char*>(reference.untyped_data());
  const char* b = static_cast<const char*>(candidate.untyped_data());
  const size_t size = reference.size_bytes();
  const size_t width = std::max<size_t>(1, xla::primitive_util::ByteWidth(reference.shape().element_type()));
  bool all_equal = size > 0;
  for (size_t i = width; i < size && all_equal; ++i) all_equal = a[i] == a[i - width];
  if (!all_equal || size == width) ++out.live;
  if (memcmp(a, b, size) == 0) return;
  out.max_error = INFINITY;
  out.note = "an integer output differs";
  const auto text = [&](const char* data, size_t at) {
    int64_t value = 0;
    memcpy(&value, data + at, std::min(width, sizeof value));
    const int unused = 64 - 8 * static_cast<int>(std::min(width, sizeof value));
    const bool is_signed = xla::primitive_util::IsSignedIntegralType(reference.shape().element_type());
    return is_signed ? std::to_string(value << unused >> unused) : std::to_string(static_cast<uint64_t>(value));
  };
  for (size_t at = 0; at + width <= size; at += width)
    if (memcmp(a + at, b + at, width) != 0)
      note_difference(out, at / width, false, [&] { return std::pair(text(a, at), text(b, at)); });
}

void compare_one(const xla::Literal& reference, const xla::Literal& candidate, Comparison& out) {
  const auto type = reference.shape().element_type();
  const double tolerance = tolerance_of(type);
  switch (type) {
    case xla::F32:
      return compare_floats<float>(reference, candidate, tolerance, out);
    case xla::F64:
      return compare_floats<double>(reference, candidate, tolerance, out);
    case xla::BF16:
      return compare_floats<xla::bfloat16>(reference, candidate, tolerance, out);
    case xla::F16:
      return compare_floats<xla::half>(reference, candidate, tolerance, out);
    default:
      break;
  }
  if (type != xla::C64 && type != xla::C128) return compare_bytes(reference, candidate, out);
  xla::Literal x(xla::ShapeUtil::MakeShape(type == xla::C64 ? xla::F32 : xla::F64, {reference.element_count() * 2}));
  xla::Literal y(x.shape());
  memcpy(x.untyped_data(), reference.untyped_data(), reference.size_bytes());
  memcpy(y.untyped_data(), candidate.untyped_data(), reference.size_bytes());
  compare_one(x, y, out);
}

// Keeps the calling thread on one CPU while it measures.
class PinnedThread {
 public:
  // `cpu`: -1 = the one it is on, also where the thread may not use the one asked for.
  PinnedThread(bool pin, int cpu) : pinned_(pin && sched_getaffinity(0, sizeof before_, &before_) == 0) {
    if (!pinned_) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(cpu, &before_) ? cpu : sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~PinnedThread() {
    if (pinned_) sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_;
  bool pinned_;
};

// The mean of `inner` runs, in ns. A clock of processor time may move in steps longer than a run, so runs are added
// until it moves.
double timed(Executable& executable, int inner, bool cpu, Cold cold = Cold::Nothing) {
  constexpr int kMostRuns = 1'000'000;
  if (executable.has_donated() || cold != Cold::Nothing) {
    double total = 0;
    int runs = 0;
    for (; runs < inner || (total <= 0 && runs < kMostRuns); ++runs) {
      executable.refresh_donated();
      if (cold != Cold::Nothing) executable.evict(/*first_input=*/cold == Cold::Inputs);
      const tsl::profiler::TraceMe event(kRunEvent);
      const double start = now_ns(cpu);
      executable.run();
      total += now_ns(cpu) - start;
    }
    return std::max(total, 1.0) / runs;
  }
  const tsl::profiler::TraceMe event(kRunEvent);
  const double start = now_ns(cpu);
  for (int i = 0; i < inner; ++i) executable.run();
  double passed = now_ns(cpu) - start;
  int runs = inner;
  for (; passed <= 0 && runs < kMostRuns; ++runs) {
    executable.run();
    passed = now_ns(cpu) - start;
  }
  return std::max(passed, 1.0) / runs;
}

// Watches over the core that a duel runs on.
class CoreWatch {
 public:
  explicit CoreWatch(const DuelOptions& options)
      : on_(options.cpu_time), best_(options.core_ns), patience_ns_(options.patience_ms * 1e6), cpu_(sched_getcpu()) {
    if (on_) stolen_ms_ = hone::stolen_ms(cpu_);
  }

  // Until the core is undisturbed, while there is patience. The probe after a round is the one before the next.
  void wait() {
    if (!on_) return;
    if (now_ == 0) probe();
    for (; disturbed() && patient(); probe()) {
      constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 5'000'000};
      const double start = now_ns(false);
      nanosleep(&kPause, nullptr);
      waited_ns_ += now_ns(false) - start;
    }
  }

  // After a round that took `round_ns` in all: whether it counts. The time of one that does not is waited.
  bool counts(double round_ns) {
    if (!on_) return true;
    const double before = now_;
    probe();
    if (disturbed() && patient()) {
      waited_ns_ += round_ns;
      return false;
    }
    probes_.push_back(std::max(before, now_));
    return true;
  }

  double waited_ns() const { return waited_ns_; }

  void report(DuelResult& result) const {
    if (!on_) return;
    if (!probes_.empty()) result.core_ns = median(probes_);
    result.stolen_ms = std::max(0.0, hone::stolen_ms(cpu_) - stolen_ms_);
  }

 private:
  void probe() {
    now_ = core_probe_ns();
    best_ = best_ > 0 ? std::min(best_, now_) : now_;
  }
  bool disturbed() const { return now_ > kDisturbed * best_; }
  bool patient() const { return waited_ns_ < patience_ns_; }

  bool on_;
  double best_, patience_ns_;
  int cpu_;
  double now_ = 0, waited_ns_ = 0, stolen_ms_ = 0;
  std::vector<double> probes_;
};

}  // namespace

Comparison compare(const std::vector<xla::Literal>& reference, const std::vector<xla::Literal>& candidate,
                   double most) {
  Comparison out;
  out.most = most;
  if (reference.size() != candidate.size()) {
    out.note = "the number of outputs differs";
    out.max_error = INFINITY;
    return out;
  }
  for (size_t i = 0; i < reference.size(); ++i) {
    if (!xla::ShapeUtil::Compatible(reference[i].shape(), candidate[i].shape())) {
      out.note = "the shape of output " + std::to_string(i) + " differs";
      out.max_error = INFINITY;
      return out;
    }
    out.elements += reference[i].element_count();
    const bool differed = out.position >= 0;
    if (xla::LayoutUtil::Equal(reference[i].shape().layout(), candidate[i].shape().layout()))
      compare_one(reference[i], candidate[i], out);
    else
      compare_one(reference[i], candidate[i].Relayout(reference[i].shape()), out);
    if (!differed && out.position >= 0) out.output = static_cast<int>(i);
  }
  out.equal = out.max_error <= most;
  out.informative = out.dead == 0 && out.live > 0;
  return out;
}

void summarise(std::vector<double> ratios, DuelResult& result) {
  std::sort(ratios.begin(), ratios.end());
  const int n = ratios.size();
  result.ratio = n % 2 ? ratios[n / 2] : 0.5 * (ratios[n / 2 - 1] + ratios[n / 2]);
  const int spread = static_cast<int>(std::ceil(0.98 * std::sqrt(static_cast<double>(n))));
  result.ratio_low = ratios[std::max(0, (n - 1) / 2 - spread)];
  result.ratio_high = ratios[std::min(n - 1, n / 2 + spread)];
  constexpr int kFewRounds = 6;
  constexpr double kSingleRunError = 0.1;
  if (n >= kFewRounds) return;
  result.ratio_low *= 1 - kSingleRunError / n;
  result.ratio_high *= 1 + kSingleRunError / n;
}

DuelResult duel(Executable& baseline, Executable& candidate, const DuelOptions& options) {
  const bool cpu = options.cpu_time;
  const Cold cold = options.cold;
  const PinnedThread pinned(cpu, options.cpu);
  const double start = now_ns(false);
  int inner = 1;
  if (!options.warm) {
    timed(baseline, 1, cpu, cold);
    timed(candidate, 1, cpu, cold);
    const double once = std::min(timed(baseline, 1, cpu, cold), timed(candidate, 1, cpu, cold));
    inner = std::clamp(static_cast<int>(1e6 / std::max(once, 50.0)), 1, 2000);
  }
  const bool one_run = options.warm && &baseline == &candidate;
  DuelResult result;
  result.baseline_ns = result.candidate_ns = INFINITY;
  std::vector<double> ratios;
  CoreWatch core(options);
  for (int round = 0; round < options.max_rounds;) {
    double a, b;
    core.wait();
    const double round_start = now_ns(false);
    if (one_run) {
      a = b = timed(baseline, 1, cpu, cold);
    } else if (baseline_first(round)) {
      a = timed(baseline, inner, cpu, cold);
      b = timed(candidate, inner, cpu, cold);
    } else {
      b = timed(candidate, inner, cpu, cold);
      a = timed(baseline, inner, cpu, cold);
    }
    if (!core.counts(now_ns(false) - round_start)) continue;
    result.baseline_ns = std::min(result.baseline_ns, a);
    result.candidate_ns = std::min(result.candidate_ns, b);
    ratios.push_back(a / b);
    summarise(ratios, result);
    result.rounds = ++round;
    const double passed = now_ns(false) - start - core.waited_ns();
    const bool surely_slow =
        result.rounds >= 2 && *std::max_element(ratios.begin(), ratios.end()) < options.abandon_ratio;
    if (surely_slow) break;
    if (result.rounds < options.min_rounds) {
      if (passed > 4e6 * options.budget_ms) break;  // far over: a very slow candidate
      continue;
    }
    if (result.ratio_high - result.ratio_low < 2 * options.precision) break;
    if (passed > 1e6 * options.budget_ms) break;
  }
  core.report(result);
  return result;
}

std::vector<double> time_runs(Executable& executable, int repeat, bool cpu_time, bool warm) {
  if (!warm) timed(executable, 1, cpu_time);
  std::vector<double> times;
  for (int i = 0; i < repeat; ++i) times.push_back(timed(executable, 1, cpu_time));
  return times;
}

}  // namespace hone::xla_side
