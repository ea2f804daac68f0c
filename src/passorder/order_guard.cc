#include "passorder/order_guard.h"

#include <algorithm>

#include "base/error.h"

namespace hone::passorder {
namespace {

constexpr double kEqualTime = 0.99;
constexpr size_t kMostRefused = 8;
constexpr int kConfirmRounds = 100;

// The least ratio of run times with which an order is as fast.
double allowed(OrderMetric metric) { return metric == OrderMetric::RunTime ? 1 : kEqualTime; }

class Guard {
 public:
  Guard(PassSession& session, const std::string& program, const GuardOptions& options)
      : session_(session), program_(program), options_(options) {}

  GuardChoice choose(Ordered& xla, std::vector<Ordered> candidates) {
    xla.duel = session_.measure(program_, xla.passes, options_.measure_ms);
    own_ = xla;
    const double own = metric_of(xla, options_.metric);
    const double bound = by_run_time() ? std::min(own, 1.0) : own;  // 1: the untouched program
    for (Ordered& candidate : candidates) {
      if (metric_of(candidate, options_.metric) >= bound || choice_.slower.size() >= kMostRefused) break;
      if (measured_any_ && options_.should_stop()) break;
      if (!may_pass(candidate, bound)) continue;
      choice_.found = candidate;
      return choice_;
    }
    choice_.found = xla;
    if (!xla.duel.verified || own_is_slower()) {
      if (xla.duel.verified) refuse(choice_.found);
      choice_.found = {{}, session_.initial(program_), session_.measure(program_, {}, options_.measure_ms)};
    }
    return choice_;
  }

 private:
  bool by_run_time() const { return options_.metric == OrderMetric::RunTime; }
  bool slower(const PassDuel& duel) const { return seems_slower(duel, options_.metric); }

  // XLA's own order, beside the untouched program.
  bool own_is_slower() {
    if (!options_.on) return by_run_time() && own_.duel.ratio < 1;
    return slower(own_.duel) && (options_.should_stop() || !confirmed(choice_.found));
  }

  // Counts the reason against it, if there is one.
  bool may_pass(Ordered& candidate, double bound) {
    if (has_slower_kernels(candidate)) {
      ++choice_.skipped;
      return false;
    }
    measured_any_ = true;
    candidate.duel = session_.measure(program_, candidate.passes, options_.measure_ms);
    const bool right = candidate.duel.verified && session_.verify(program_, candidate.passes).empty() &&
                       metric_of(candidate, options_.metric) < bound;
    if (!right) {
      ++choice_.rejected;
      return false;
    }
    if (!options_.on) return true;
    const bool passed = options_.should_stop() ? passes_beside(candidate.duel, own_.duel)
                                               : !below_own_surely(candidate.duel) && confirmed_beside_own(candidate);
    if (!passed && candidate.duel.verified) refuse(candidate);
    if (!candidate.duel.verified) ++choice_.rejected;
    return passed;
  }

  // Surely slower than the untouched program, or than XLA's own order by their duels with it.
  bool below_own_surely(const PassDuel& duel) const {
    return surely_slower(duel) || (own_.duel.verified && duel.ratio_high < kEqualTime * own_.duel.ratio_low);
  }

  // The last duels of both, in one process.
  bool confirmed_beside_own(Ordered& candidate) {
    if (!confirmed(candidate)) return false;
    if (options_.should_stop()) return passes_beside(candidate.duel, own_.duel);
    return passes_beside(candidate.duel, session_.duel(program_, own_.passes, {options_.confirm_ms, kConfirmRounds}));
  }

  bool passes_beside(const PassDuel& duel, const PassDuel& own) const {
    return !slower(duel) && (!own.verified || duel.ratio >= allowed(options_.metric) * own.ratio);
  }

  // The last duel, which is left in the candidate.
  bool confirmed(Ordered& candidate) {
    session_.fresh_process();
    candidate.duel = session_.duel(program_, candidate.passes, {options_.confirm_ms, kConfirmRounds});
    return candidate.duel.verified && !slower(candidate.duel);
  }

  void refuse(const Ordered& candidate) {
    choice_.slower.push_back(candidate);
    if (const std::string kernels = kernels_of(candidate); !kernels.empty()) slower_kernels_.push_back(kernels);
  }

  bool has_slower_kernels(const Ordered& candidate) {
    if (slower_kernels_.empty()) return false;
    const std::string kernels = kernels_of(candidate);
    return std::find(slower_kernels_.begin(), slower_kernels_.end(), kernels) != slower_kernels_.end();
  }

  std::string kernels_of(const Ordered& candidate) {
    try {
      return session_.kernels(program_, candidate.passes).fingerprint;
    } catch (const RunError&) {  // it is measured all the same
      return "";
    }
  }

  PassSession& session_;
  const std::string& program_;
  const GuardOptions& options_;
  Ordered own_;  // XLA's own order
  GuardChoice choice_;
  std::vector<std::string> slower_kernels_;
  bool measured_any_ = false;  // of the candidates
};

}  // namespace

bool surely_slower(const PassDuel& duel) { return duel.ratio_high < kEqualTime; }

bool seems_slower(const PassDuel& duel, OrderMetric metric) {
  return duel.ratio < allowed(metric) || duel.ratio_high < 1;
}

GuardChoice choose_order(PassSession& session, const std::string& program, const GuardOptions& options, Ordered& xla,
                         std::vector<Ordered> candidates) {
  return Guard(session, program, options).choose(xla, std::move(candidates));
}

}  // namespace hone::passorder
