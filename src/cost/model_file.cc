#include "cost/model_file.h"

#include "cost/learn_loader.h"
#include "cost/tree_model.h"
#include "options/safetensors.h"

namespace hone::cost {

std::unique_ptr<LearnedModel> open_model_file(const std::string& path, const features::Cpu& cpu) {
  const options::TensorFile file = options::read_safetensors(path);
  return holds_trees(file) ? open_tree_model(file, path, cpu) : open_weights_file(path, static_cast<int>(cpu.threads));
}

}  // namespace hone::cost
