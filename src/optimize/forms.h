// Forms of a program's operations that are chosen by what the whole program is predicted to take under them: reductions by a library
// or compiled, attention in blocks, and the like. docs/decisions/0070-forms-by-predicted-time.md.
//
// Convolutions and dots are chosen by a model of single operations (cost/operation_ranker.h), grouped convolutions and poolings by the
// size of their arithmetic (tune/kernel/calibration.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "features/cpu.h"
#include "search/operation_forms.h"
#include "tune/kernel/calibration.h"
#include "tune/program/fusion_model.h"

namespace hone::optimize {

// The groups of forms that these predictions are about.
std::vector<FormGroup> candidate_forms(const std::vector<Dimension>& dimensions);
// What calibrations call the change: "reduction ynn".
std::string form_transition(const FormGroup& group);

// What margins are made of: the predicted run of a lowered program.
struct PredictedRun {
  // Its kernels' times, and a microsecond for the call and for what is no kernel, as sorts and calls of libraries.
  double ns = 0;
  // From 0 to 1: the share of dots in ns, times cold_share() of its working set (cost/program_time.h). Of programs that
  // Measurer::lower() gave; lower_to_predict() does not tell what comes from outside.
  double cold_dots = 0;
  double dots = 0;  // the share alone
};
// `cpu`: the machine that runs it. Throws Error where a kernel cannot be predicted.
PredictedRun predicted_run(tune::FusionModel& model, const Lowered& lowered, const features::Cpu& cpu);

// Above 0 where the change is expected to gain: the logarithm of the predicted times' ratio. For a library of the whole program, which
// gains by how it reads matrices that come from memory, the cold dots before the change. `changed`: of one family.
double form_margin(const Decisions& changed, const PredictedRun& before, const PredictedRun& after);

// Of the program under decisions; nothing where it cannot be lowered or predicted.
using PredictProgram = std::function<std::optional<PredictedRun>(const Decisions&)>;

struct ChosenForm {
  Decisions decisions;  // of one operation, or of all of a family
  std::string transition;
  double margin = 0;
  tune::AcceptanceThreshold threshold;
};

// Changes of `program`, which is default XLA's, that are known to pay off by `gains`, in the order in which they were taken: each margin is
// over default XLA, or beside those before it of the same transition. Families are judged before single operations, and these by their
// weight, as many as most_forms() of the program; each at most twice.
std::vector<ChosenForm> choose_forms(const Lowered& program, const tune::Calibration& gains,
                                     const PredictProgram& predict);
// Libraries for all dots of the program, of which some class of machines has gains, with the program's margin, whatever it is: what they
// gain depends on caches and memory, which one class tells little of another, and no margin may tell it on this one. None where dots take
// little of the predicted run.
std::vector<ChosenForm> libraries_to_try(const std::vector<Dimension>& dimensions, const tune::Calibration& gains,
                                         const PredictProgram& predict);
// 24 of a program of 250 instructions or fewer, 4 of one of 1,500 or more, whose lowering takes that much longer.
int most_forms(int64_t instructions);

}  // namespace hone::optimize
