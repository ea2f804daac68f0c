#include "passorder/predicted_time.h"

#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/text.h"
#include "cost/kernel_ranker.h"
#include "cost/run_time_model.h"
#include "cost/shipped.h"

namespace hone::passorder {
namespace {

constexpr size_t kKeptPredictions = 100'000;
constexpr int kAttempts = 2;  // of a prediction that ends in a failure which may not come again

std::unique_ptr<cost::LearnedModel> fusion_model(const PassSessionOptions& options, const std::string& models) {
  const std::string path = cost::shipped_model("fusion", models);
  if (path.empty()) throw Error("no model of run times comes with this build", "--models", "train one: hone train");
  return cost::open_run_time_model(path, options.threads, options.max_isa);
}

}  // namespace

PredictedTimes::PredictedTimes(PassSession& session, const std::string& models)
    : PredictedTimes(session, fusion_model(session.options(), models)) {}

PredictedTimes::PredictedTimes(PassSession& session, std::unique_ptr<cost::LearnedModel> model, size_t most_kernels)
    : session_(session), model_(std::move(model)), most_kernels_(most_kernels) {
  if (!model_->predicts_runtime()) throw Error("this model ranks options and predicts no run times", model_->name());
}

PredictedTime PredictedTimes::of(const std::string& program, const PassState& state, const PassHistory& history) {
  const std::string key = program + ' ' + state.fingerprint;
  std::unique_lock lock(mutex_);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const Kernels known = kernels_;  // those that the worker describes briefly, also if they are forgotten meanwhile
  lock.unlock();
  PredictedTime predicted;
  OrderKernels made;
  bool lasting = true, repeats = false;
  try {
    std::vector<uint64_t> hashes;
    for (const auto& [hash, ns] : known) hashes.push_back(hash);
    made = session_.kernels(program, history, std::move(hashes));
  } catch (const wire::NoWorker& gone) {
    predicted.error = gone.what();
    lasting = false;
  } catch (const wire::WorkerFailure& died) {
    predicted.error = died.what();
    repeats = died.kind() != wire::WorkerFailure::Kind::Crashed;
  } catch (const RunError& failed) {
    predicted.error = failed.what();
  }
  lock.lock();
  if (predicted.error.empty()) {
    predicted = {sum(made, known), made.fingerprint, ""};
    if (!(predicted.ns > 0)) predicted.error = "the program has no kernel that can be predicted";
  }
  if (!lasting || (repeats && again(key))) return predicted;
  if (known_.size() >= kKeptPredictions) known_.clear();
  return known_[key] = predicted;
}

// Whether the prediction that has failed now should be tried once more.
bool PredictedTimes::again(const std::string& key) {
  if (failed_.size() >= kKeptPredictions) failed_.clear();
  return ++failed_[key] < kAttempts;
}

size_t PredictedTimes::kernels_known() {
  const std::lock_guard lock(mutex_);
  return kernels_.size();
}

double PredictedTimes::sum(const OrderKernels& made, const Kernels& known) {
  double ns = 0;
  for (const Kernel& kernel : made.kernels) ns += ns_of(kernel, known) * kernel.runs;
  return ns;
}

// Of one run. One that the model cannot read counts nothing, in every order alike.
double PredictedTimes::ns_of(const Kernel& kernel, const Kernels& known) {
  const uint64_t hash = hash64(kernel.fingerprint);
  if (const auto found = known.find(hash); found != known.end()) return found->second;
  if (const auto found = kernels_.find(hash); found != kernels_.end()) return found->second;
  double ns = 0;
  if (!kernel.module.empty() && !kernel.dimension.options.empty()) try {
      ns = model_->predict(cost::EncodedOptions(kernel, {kernel.default_value()}).view()).at(0);
    } catch (const Error& e) {
      spdlog::debug("no prediction of {}: {}", kernel.name, e.what());
    }
  if (kernels_.size() >= most_kernels_) kernels_.clear();
  return kernels_[hash] = ns;
}

}  // namespace hone::passorder
