// One file of a model of kernels' run times: trees, or the weights of a network.
#pragma once

#include <memory>
#include <string>

#include "cost/learned_model.h"

namespace hone::cost {

// Throws Error (where = path) for weights of another feature version or model, and for damaged files; RunError if the library is
// missing that networks need (learn_loader.h).
std::unique_ptr<LearnedModel> open_model_file(const std::string& path, int threads);

}  // namespace hone::cost
