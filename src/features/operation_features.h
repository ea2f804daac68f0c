// A convolution or dot that is measured by itself, and one of its forms, as features of a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "features/cpu.h"
#include "graph/operation_key.h"

namespace hone::features {

// In the order of the features, as operation_features.def names them.
const std::vector<std::string>& operation_feature_names();

// Of an operation's second operand: a constant of the program, or a parameter that was declared constant between calls.
struct WeightsUse {
  bool constant = false, declared = false;
};

// nullopt for a form that is none of the operation's family.
std::optional<std::vector<float>> operation_features(const OperationSizes& operation, const WeightsUse& use,
                                                     const std::string& form, const Cpu& cpu);

}  // namespace hone::features
