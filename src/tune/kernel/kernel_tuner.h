// Finds the best option of one kernel by duels against the kernel's own default.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tune/kernel/option_walk.h"

namespace hone::tune {

inline constexpr double kNegligibleShare = 1e-4;  // of the program's time: a kernel below is not searched

struct KernelReport {
  std::string fingerprint, name, kind;
  int count = 1;
  double share = 0;  // of the program's time, measured or estimated
  DecisionKind decision = DecisionKind::Codegen;
  std::string key;                    // of the decision
  Decisions under;                    // about weights, with which it was measured
  std::string default_tile;           // XLA's own, "1,128", where its default is the tiled emitter
  std::string default_value, chosen;  // equal when nothing beat the default
  double default_ns = 0, chosen_ns = 0;
  double gain = 1, gain_low = 1, gain_high = 1;
  int options = 0, tried = 0;
  bool known = false;        // taken from the database
  bool in_place = false;     // its options were measured in the program, beside those of other kernels
  double gain_in_place = 0;  // of the chosen one in the program, with all other kernels' winners; 0 = not measured
  bool complete = false;     // the search did not run out of budget
  bool kept = false;         // part of the final program
  std::vector<Tried> top;    // best first, careful duels before quick ones

  bool improved() const { return chosen != default_value; }
};

// Ends after `budget_s`, when the measurer has no time left, or when the search is complete; returns the best so far. A
// complete search is passed to Measurer::remember().
KernelReport tune_kernel(const Kernel& kernel, Measurer& measurer, double budget_s, const KernelOptions& options,
                         Rng& rng);

// The same of options that were measured in the program, so far. The best is chosen if it may gain: a duel of the program
// with the winners of all kernels decides.
KernelReport report_in_place(const Kernel& kernel, const OptionWalk& walk);

// Seconds that a search over the options of a kernel is expected to take, one run of which takes `run_s`.
double kernel_cost_s(const Kernel& kernel, double run_s, const KernelOptions& options);

// What the database knows about kernels, most valuable first, measuring nothing; unknown kernels are missing.
std::vector<KernelReport> known_kernels(const std::vector<Kernel>& kernels, Measurer& measurer);

struct KernelsProgress {
  int index = 0, total = 0;
  const KernelReport* report = nullptr;
};

// Tunes all kernels with more than one option, by share, largest first, and divides the budget in proportion. Returns
// reports in the order of tuning; kernels that the budget did not reach are missing.
std::vector<KernelReport> tune_kernels(const std::vector<Kernel>& kernels, Measurer& measurer, double budget_s,
                                       const KernelOptions& options, Rng& rng,
                                       const std::function<void(const KernelsProgress&)>& on_kernel);

}  // namespace hone::tune
