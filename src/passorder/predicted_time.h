// Run times of programs after orders of passes, predicted from the kernels that XLA makes of them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "cost/learned_model.h"
#include "passorder/pass_session.h"

namespace hone::passorder {

struct PredictedTime {
  double ns = 0;        // 0 if there is no prediction
  std::string kernels;  // fingerprint of the kernels; empty if XLA cannot compile the program
  std::string error;    // why there is no prediction
};

// The sum over the kernels of a program, each as often as it occurs in the compiled module, of what a model predicts for its
// default option. Kernels of a loop's body count once, and what is no kernel (sorts, custom calls) counts nothing, so the sums
// compare orders of one program and are no run times of it. A prediction costs XLA's passes behind the order, without code
// generation. Known states and kernels are remembered, up to a number of each; a failure that may not come again, of a worker that
// took too long or was killed, only when the state has had it twice. May be shared between threads, which do not wait for each
// other's passes for a known state.
class PredictedTimes {
 public:
  // The trees `fusion` in the folder `models`, or the shipped ones (cost/shipped.h), for this machine with the session's threads
  // and instruction set. Throws Error where there are none.
  explicit PredictedTimes(PassSession& session, const std::string& models = "");
  // The same with another model, which must predict run times. `most_kernels` are remembered.
  PredictedTimes(PassSession& session, std::unique_ptr<cost::LearnedModel> model, size_t most_kernels = 20'000);

  // Of the state that the history leads to.
  PredictedTime of(const std::string& program, const PassState& state, const PassHistory& history);
  size_t kernels_known();

 private:
  using Kernels = std::map<uint64_t, double>;  // ns of one run, by hash64 of the fingerprint
  bool again(const std::string& key);
  double sum(const OrderKernels& made, const Kernels& known);
  double ns_of(const Kernel& kernel, const Kernels& known);

  PassSession& session_;
  std::unique_ptr<cost::LearnedModel> model_;
  std::mutex mutex_;
  std::unordered_map<std::string, PredictedTime> known_;  // by the program's and the state's fingerprint
  std::unordered_map<std::string, int> failed_;           // by the same: how often, of failures that may not come again
  size_t most_kernels_;
  Kernels kernels_;
};

}  // namespace hone::passorder
