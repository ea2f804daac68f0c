#include "cost/learn_library.h"

#include <filesystem>

#include "base/log.h"
#include "cost/ensemble.h"
#include "cost/model_file.h"

namespace hone::cost {

std::unique_ptr<LearnedModel> load_learned_model(const std::string& weights_path, const features::Cpu& cpu,
                                                 bool networks) {
  std::unique_ptr<LearnedModel> model;
  if (std::filesystem::is_directory(weights_path))
    model = open_ensemble(weights_path, cpu);
  else
    model = open_model_file(weights_path, cpu);
  if (!networks) model->leave_out_networks();
  return model;
}

void set_up_library_log(int verbosity) { set_up_log(static_cast<Verbosity>(verbosity)); }

}  // namespace hone::cost
