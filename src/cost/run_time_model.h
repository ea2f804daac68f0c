// Opens models of run times as commands use them: the shipped trees or those of --models, corrected by kernels that this machine has
// measured (machine_kernels.h) where it is one that they have not learnt from.
#pragma once

#include <memory>
#include <string>

#include "cost/code_model.h"
#include "cost/learned_model.h"
#include "cost/machine_kernels.h"
#include "features/cpu.h"

namespace hone::cost {

// `weights` and `networks` as load_learned_model() takes them, and its errors; `max_isa` limits the instruction set of the code that is predicted.
// With one thread corrected where correct() does; a database that cannot be read is a warning.
std::unique_ptr<LearnedModel> open_run_time_model(const std::string& weights, int threads, const std::string& max_isa,
                                                  bool networks = true);

// The shipped trees, or those of the folder `models` if it is given; where there are none, or with a warning where they do not open, the
// analytical model.
std::unique_ptr<LearnedModel> open_shipped_run_time_model(const std::string& models, int threads,
                                                          const std::string& max_isa);

// The model corrected by the kernels' run times, if it is of trees alone, if there are at least kLeastKernels, and if the others correct a
// kernel by enough (LeafCorrection::helps()); else the model as it is. Where a kernel cannot be encoded, the others count.
std::unique_ptr<LearnedModel> correct(std::unique_ptr<LearnedModel> model, const MachineKernels& measured);

// The same for trees that see the code (one thread), whose weights are a folder.
struct OpenCodeModel {
  CodeModel model;
  LeafCorrection::Verdict correction{};
};
OpenCodeModel open_code_model(const std::string& weights, const std::string& max_isa);

// What the shipped models of run times make of the kernels that this machine measured; zeros where nothing can be said.
struct MachineVerdicts {
  LeafCorrection::Verdict before_compiling, by_code;
};
MachineVerdicts machine_verdicts(const std::string& max_isa);

}  // namespace hone::cost
