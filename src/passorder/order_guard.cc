#include "passorder/order_guard.h"

#include <algorithm>

#include "base/error.h"

namespace hone::passorder {
namespace {

constexpr double kEqualTime = 0.99;
constexpr size_t kMostRefused = 8;
constexpr int kConfirmRounds = 100;

class Guard {
 public:
  Guard(PassSession& session, const std::string& program, const GuardOptions& options)
      : session_(session), program_(program), options_(options) {}

  GuardChoice choose(Ordered& xla, std::vector<Ordered> candidates) {
    xla.duel = session_.measure(program_, xla.passes, options_.measure_ms);
    own_ = xla;
    const double bound = metric_of(xla, options_.metric);
    for (Ordered& candidate : candidates) {
      if (metric_of(candidate, options_.metric) >= bound || choice_.slower.size() >= kMostRefused) break;
      if (!may_pass(candidate, bound)) continue;
      choice_.found = candidate;
      return choice_;
    }
    choice_.found = xla;
    const bool refused = !xla.duel.verified || (options_.on && seems_slower(xla.duel) && !confirmed(choice_.found));
    if (refused) {
      if (xla.duel.verified) refuse(choice_.found);
      choice_.found = {{}, session_.initial(program_), session_.measure(program_, {}, options_.measure_ms)};
    }
    return choice_;
  }

 private:
  // Counts the reason against it, if there is one.
  bool may_pass(Ordered& candidate, double bound) {
    if (has_slower_kernels(candidate)) {
      ++choice_.skipped;
      return false;
    }
    candidate.duel = session_.measure(program_, candidate.passes, options_.measure_ms);
    const bool right = candidate.duel.verified && session_.verify(program_, candidate.passes).empty() &&
                       metric_of(candidate, options_.metric) < bound;
    if (!right) {
      ++choice_.rejected;
      return false;
    }
    if (!options_.on) return true;
    const bool passed = !below_own_surely(candidate.duel) && confirmed_beside_own(candidate);
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
    const PassDuel own = session_.duel(program_, own_.passes, {options_.confirm_ms, kConfirmRounds});
    return !own.verified || candidate.duel.ratio >= kEqualTime * own.ratio;
  }

  // The last duel, which is left in the candidate.
  bool confirmed(Ordered& candidate) {
    session_.fresh_process();
    candidate.duel = session_.duel(program_, candidate.passes, {options_.confirm_ms, kConfirmRounds});
    return candidate.duel.verified && !seems_slower(candidate.duel);
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
};

}  // namespace

bool surely_slower(const PassDuel& duel) { return duel.ratio_high < kEqualTime; }

bool seems_slower(const PassDuel& duel) { return duel.ratio < kEqualTime || duel.ratio_high < 1; }

GuardChoice choose_order(PassSession& session, const std::string& program, const GuardOptions& options, Ordered& xla,
                         std::vector<Ordered> candidates) {
  return Guard(session, program, options).choose(xla, std::move(candidates));
}

}  // namespace hone::passorder
