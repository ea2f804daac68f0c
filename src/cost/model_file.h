// One file of a model of kernels' run times: trees, or the weights of a network.
#pragma once

#include <memory>
#include <string>

#include "cost/learned_model.h"
#include "features/cpu.h"

namespace hone::cost {

// Predicts for the machine `cpu`. Throws Error (where = path) for weights of another feature version or model, and for damaged files; RunError if the library is
// missing that networks need (learn_loader.h).
std::unique_ptr<LearnedModel> open_model_file(const std::string& path, const features::Cpu& cpu);

}  // namespace hone::cost
