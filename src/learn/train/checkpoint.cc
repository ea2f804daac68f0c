#include "learn/train/checkpoint.h"

#include <filesystem>

#include "base/error.h"

namespace hone::learn {

namespace {

constexpr const char* kFormat = "hone-checkpoint-1";

// What must be equal for a run to be resumed.
std::string identity(options::TrainOptions options, const cost::FeatureScale& scale) {
  options.steps = 1;
  options.patience = 0;
  options.threads = 1;
  options.rank = 0;
  options.rendezvous.clear();
  return to_json(options).dump() + to_json(scale).dump();
}

nlohmann::json to_json(const Progress& p) {
  return {{"step", p.step},
          {"best_step", p.best_step},
          {"best_objective", p.best_objective},
          {"without_better", p.without_better}};
}

void from_json(const nlohmann::json& json, Progress& p) {
  json.at("step").get_to(p.step);
  json.at("best_step").get_to(p.best_step);
  json.at("best_objective").get_to(p.best_objective);
  json.at("without_better").get_to(p.without_better);
}

}  // namespace

using torch::optim::AdamParamState;

void put_optimizer(torch::optim::Adam& optimizer, const torch::nn::Module& module, options::TensorFile& file) {
  for (const auto& parameter : module.named_parameters()) {
    const auto found = optimizer.state().find(parameter.value().unsafeGetTensorImpl());
    if (found == optimizer.state().end()) continue;  // never had a gradient
    const auto& state = static_cast<const AdamParamState&>(*found->second);
    file.tensors["first_moment." + parameter.key()] = to_stored(state.exp_avg());
    file.tensors["second_moment." + parameter.key()] = to_stored(state.exp_avg_sq());
    file.tensors["adam_step." + parameter.key()] = to_stored(torch::tensor(state.step(), torch::kLong));
  }
}

void take_optimizer(const options::TensorFile& file, const torch::nn::Module& module, torch::optim::Adam& optimizer) {
  for (const auto& parameter : module.named_parameters()) {
    const auto found = file.tensors.find("adam_step." + parameter.key());
    if (found == file.tensors.end()) continue;
    auto state = std::make_unique<AdamParamState>();
    torch::Tensor step = torch::tensor(int64_t{0}, torch::kLong);
    torch::Tensor first = torch::empty_like(parameter.value()), second = torch::empty_like(parameter.value());
    copy_stored(found->second, parameter.key(), step);
    copy_stored(file.tensors.at("first_moment." + parameter.key()), parameter.key(), first);
    copy_stored(file.tensors.at("second_moment." + parameter.key()), parameter.key(), second);
    state->step(step.item<int64_t>());
    state->exp_avg(first.detach());
    state->exp_avg_sq(second.detach());
    optimizer.state()[parameter.value().unsafeGetTensorImpl()] = std::move(state);
  }
}

void save_checkpoint(const std::string& path, const options::TrainOptions& options, const RunState& state) {
  options::TensorFile file;
  file.metadata = {{"format", kFormat},
                   {"run", identity(options, state.current->scale)},
                   {"progress", to_json(*state.progress).dump()}};
  put_parameters(*state.current->network, "current.", file);
  put_parameters(*state.best->network, "best.", file);
  put_optimizer(*state.optimizer, *state.current->network, file);
  options::write_safetensors(path, file);
}

bool load_checkpoint(const std::string& path, const options::TrainOptions& options, const RunState& state) {
  if (!std::filesystem::exists(path)) return false;
  const options::TensorFile file = options::read_safetensors(path);
  const auto text = [&](const char* key) {
    const auto found = file.metadata.find(key);
    return found == file.metadata.end() ? std::string() : found->second;
  };
  if (text("format") != kFormat) throw Error("not a checkpoint written by hone", path);
  if (text("run") != identity(options, state.current->scale))
    throw Error("the checkpoint is from a run with other options or data", path,
                "use the same ones or name another file");
  try {
    from_json(nlohmann::json::parse(text("progress")), *state.progress);
    take_parameters(file, "current.", *state.current->network);
    take_parameters(file, "best.", *state.best->network);
    take_optimizer(file, *state.current->network, *state.optimizer);
  } catch (const nlohmann::json::exception&) {
    throw Error("the checkpoint is damaged", path);
  } catch (const std::out_of_range&) {
    throw Error("the checkpoint is damaged", path);
  } catch (const Error& e) {
    throw Error(e.what(), path, e.hint());
  }
  return true;
}

}  // namespace hone::learn
