// The program's interface to libhone_learn.so, which holds all code that needs torch: its commands (learn_loader.h) and its
// models.
#pragma once

#include <memory>
#include <string>

#include "cost/learn_loader.h"
#include "cost/learned_model.h"
#include "features/cpu.h"

namespace hone::cost {

// Reads weights of `hone train` or trees (tree_model.h), or a folder of them as an ensemble (ensemble.h), to predict for the machine
// `cpu`, whose threads the networks use. Throws
// Error (where = path) for weights of another feature version or model, and for damaged files; RunError if the library is
// missing that networks need. Without `networks` by trees alone, where both are in a file: they order a program's variants as well or better
// (docs/decisions/0084).
std::unique_ptr<LearnedModel> load_learned_model(const std::string& weights_path,
                                                 const features::Cpu& cpu = features::this_cpu(1),
                                                 bool networks = true);

// The log of the library itself (base/log.h), declared here for sources that include torch: its include folder has another
// version of fmt, which conflicts with spdlog.
void set_up_library_log(int verbosity);

}  // namespace hone::cost
