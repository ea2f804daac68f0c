#include "passorder/predicted_time.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cost/kernel_ranker.h"
#include "cost/run_time_model.h"
#include "cost/shipped.h"

namespace hone::passorder {
namespace {

constexpr size_t kKeptPredictions = 100'000;

std::unique_ptr<cost::LearnedModel> fusion_model(const PassSessionOptions& options, const std::string& models) {
  const std::string path = cost::shipped_model("fusion", models);
  if (path.empty()) throw Error("no model of run times comes with this build", "--models", "train one: hone train");
  return cost::open_run_time_model(path, options.threads, options.max_isa);
}

}  // namespace

PredictedTimes::PredictedTimes(PassSession& session, const std::string& models)
    : PredictedTimes(session, fusion_model(session.options(), models)) {}

PredictedTimes::PredictedTimes(PassSession& session, std::unique_ptr<cost::LearnedModel> model)
    : session_(session), model_(std::move(model)) {
  if (!model_->predicts_runtime()) throw Error("this model ranks options and predicts no run times", model_->name());
}

PredictedTime PredictedTimes::of(const std::string& program, const PassState& state, const PassHistory& history) {
  const std::lock_guard lock(mutex_);
  const std::string key = program + ' ' + state.fingerprint;
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  if (known_.size() > kKeptPredictions) known_.clear();
  return known_[key] = predict(program, history);
}

PredictedTime PredictedTimes::predict(const std::string& program, const PassHistory& history) {
  std::vector<uint64_t> known;
  for (const auto& [hash, ns] : kernels_) known.push_back(hash);
  std::sort(known.begin(), known.end());
  PredictedTime predicted;
  try {
    const OrderKernels made = session_.kernels(program, history, std::move(known));
    predicted.kernels = made.fingerprint;
    for (const Kernel& kernel : made.kernels) {
      const auto [place, fresh] = kernels_.try_emplace(hash64(kernel.fingerprint), 0);
      // One that the model cannot read counts nothing, in every order alike.
      if (fresh && !kernel.module.empty() && !kernel.dimension.options.empty()) try {
          place->second = model_->predict(cost::EncodedOptions(kernel, {kernel.default_value()}).view()).at(0);
        } catch (const Error& e) {
          spdlog::debug("no prediction of {}: {}", kernel.name, e.what());
        }
      predicted.ns += place->second * kernel.count;
    }
    if (!(predicted.ns > 0)) predicted.error = "the program has no kernel that can be predicted";
  } catch (const RunError& failed) {
    predicted = {0, "", failed.what()};
  }
  return predicted;
}

}  // namespace hone::passorder
