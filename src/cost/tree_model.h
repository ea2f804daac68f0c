// Models of kernels' run times by gradient-boosted trees (trees.h, kernel_features.h): trained by scripts/train_kernels.py, scored
// without any library.
#pragma once

#include <memory>
#include <string>

#include "cost/learned_model.h"
#include "features/cpu.h"
#include "options/safetensors.h"

namespace hone::cost {

// Whether a safetensors file holds trees (metadata "format": "hone-trees-1") and not the weights of a network.
bool holds_trees(const options::TensorFile& file);

// The model in such a file. Its metadata: "task" (tile or fusion), "predicts" (what the trees add up to: "run time", the logarithm of
// measured over analytical run time, or "ratio", the logarithm of an option's run time up to a constant of the kernel), "features"
// (names, as kernel_feature_names()), "feature_version", "base". `cpu`: the machine to predict for. Tensors: feature (I16), value (F32), left (I32), roots (I32), as Trees::Arrays. Throws Error (where = path) for
// other features and for what is no such file.
std::unique_ptr<LearnedModel> open_tree_model(const options::TensorFile& file, const std::string& path,
                                              const features::Cpu& cpu);

}  // namespace hone::cost
