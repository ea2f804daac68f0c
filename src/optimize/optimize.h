// Compile-time mode: every kernel gets the option that a model ranks first, if this is known to pay off; then one duel of the program
// shows whether it does (docs/decisions/0074-a-guard-for-choices.md).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cost/kernel_ranker.h"
#include "cost/operation_ranker.h"
#include "optimize/described.h"
#include "optimize/forms.h"
#include "optimize/layouts.h"
#include "tune/kernel/calibration.h"
#include "tune/session/measurer.h"

namespace hone::optimize {

struct OptimizeOptions {
  // Of one kernel, including the default; 0 = all. The known gains hold for this number: among more options the best
  // score is less accurate.
  int max_options = 24;
  // Of convolutions and half-precision dots; null = they stay as they are.
  const cost::OperationRanker* operations = nullptr;
  // Predicts the run of a lowered program, for the other forms and their known gains; throws Error. Null = they stay as they are.
  std::function<PredictedRun(const Lowered&)> predict = nullptr;
  tune::Calibration form_gains = {};
  // Layouts that are predicted to be faster; each has a duel. Null = they stay XLA's, as without a guard.
  PredictedLayouts layouts = nullptr;
  bool verify = true;  // compile and run once, and compare the outputs with default XLA's
  double verify_limit_s = 300;
  // Of a duel against default XLA, which the choices must win by 1 %: else those of one kind after the other are given up. 0 = none,
  // so that nothing is timed; none either without `verify`.
  double guard_s = 1;
  std::function<void(int kernel, int kernels)> on_ranked = [](int, int) {};

  void validate() const;  // throws Error
};

struct OptimizeReport {
  Decisions decisions;                   // sorted; empty = default XLA
  std::vector<OptimizedKernel> kernels;  // of the program with the operations below
  // Grouped convolutions and poolings; name = key, `gain` is the whole program's.
  std::vector<OptimizedKernel> rewrites;
  // Convolutions and half-precision dots; name = key, `gain` is the operation's.
  std::vector<OptimizedKernel> operations;
  // Other forms by the whole program's predicted time; one for each operation; `gain` is the whole program's.
  std::vector<OptimizedKernel> forms;
  // Ways in which the program's threads work, and layouts of single instructions: those that won a duel over the program without
  // them, which is `gain`.
  std::vector<OptimizedKernel> thread_options, layouts;
  Lowered lowered;           // under the decisions
  int64_t instructions = 0;  // of default XLA's lowered module
  bool verified = false;     // the outputs were compared, and are default XLA's
  tune::Measurement check;   // the duel of the guard, or one round; not run when !verify
  bool guarded = false;      // `check` is the duel of the decisions, and they are faster
  std::string note;          // when a check failed
  double lowering_s = 0, ranking_s = 0, verifying_s = 0;
  double seconds() const { return lowering_s + ranking_s + verifying_s; }
};

// Options whose outputs differ are dropped, or all options if no single one fails: decisions known to be wrong are
// never returned. Throws RunError when default XLA itself cannot run and `verify` is set, Stopped after an interrupt,
// and whatever lowering throws.
OptimizeReport optimize_program(tune::Measurer& measurer, cost::KernelRanker& ranker, const tune::Calibration& gains,
                                const OptimizeOptions& options);

// The options that are ranked: those that planned_options (collect.h) would measure.
std::vector<std::string> options_to_rank(const Kernel& kernel, int max_options);

}  // namespace hone::optimize
