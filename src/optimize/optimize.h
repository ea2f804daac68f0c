// Compile-time mode: every kernel gets the option a model likes best, where that is known to pay, and nothing is timed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cost/kernel_ranker.h"
#include "tune/kernel/calibration.h"
#include "tune/session/measurer.h"

namespace hone::optimize {

struct OptimizeOptions {
  // Of one kernel, the default among them; 0 = all. The known gains are about the best of as many: among more options
  // the best score is a little further from the truth.
  int max_options = 24;
  bool verify = true;  // compile and run once, and compare the outputs with default XLA's
  double verify_limit_s = 300;
  std::function<void(int kernel, int kernels)> on_ranked = [](int, int) {};

  void validate() const;  // throws Error
};

// What the model says about one kernel.
struct OptimizedKernel {
  std::string fingerprint, name, kind;
  int count = 1, options = 0;
  double share = 0;  // of the program's time, estimated
  DecisionKind decision = DecisionKind::Codegen;
  std::string key, default_value;
  std::vector<std::string> order;  // all options that were ranked, best first
  std::string chosen;              // the default where nothing is worth a change
  std::string transition;      // from the default to the chosen option (calibration.h); empty where nothing is chosen
  double margin = 0;           // predicted, of the chosen option over the default
  double gain = 1, error = 0;  // expected default over chosen, and how far below that one in ten falls; ratios
  bool applied = false;
  std::string note;  // why it was not ranked, or why its option was dropped again
};

struct OptimizeReport {
  Decisions decisions;                   // sorted; empty = default XLA
  std::vector<OptimizedKernel> kernels;  // of the program with the operations below
  // Grouped convolutions and poolings; name = key, `gain` is the whole program's.
  std::vector<OptimizedKernel> rewrites;
  Lowered lowered;           // under the decisions
  int64_t instructions = 0;  // of default XLA's lowered module
  bool verified = false;     // the outputs were compared, and are default XLA's
  tune::Measurement check;   // of the run that says so: one round, no more; not run when !verify
  std::string note;          // when a check failed
  double lowering_s = 0, ranking_s = 0, verifying_s = 0;
  double seconds() const { return lowering_s + ranking_s + verifying_s; }
};

// Options whose outputs differ are dropped, all of them when it cannot be told which: what is returned is never known to
// be wrong. Throws RunError when default XLA itself cannot run and the check was wanted, Stopped after an interrupt, and
// what lowering throws.
OptimizeReport optimize_program(tune::Measurer& measurer, cost::KernelRanker& ranker, const tune::Calibration& gains,
                                const OptimizeOptions& options);

// The options that are ranked: those that planned_options (collect.h) would measure.
std::vector<std::string> options_to_rank(const Kernel& kernel, int max_options);

}  // namespace hone::optimize
