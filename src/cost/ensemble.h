// Several models as one: members trained with other seeds err in other places, and the analytical model nowhere wildly.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cost/learned_model.h"

namespace hone::cost {

// A model that also says what its members think one by one.
class EnsembleModel : public LearnedModel {
 public:
  // [members][options], in the order of opening; each as predict() averages them: logarithms of run times when all
  // predict run times, of run times up to a constant when all predict at least ratios of them, else scores of mean 0 and
  // deviation 1.
  virtual std::vector<std::vector<double>> member_scores(const KernelView& kernel) = 0;
};

// Opens every *.safetensors (weights of hone train) and *.json (analytical models of hone eval --save) in a folder, in the
// order of their names. When all members predict run times, so does the ensemble: their geometric mean. Otherwise it
// ranks: within each kernel every member's scores (run times as logarithms) are brought to mean 0 and deviation 1 (ratios: to
// mean 0), and averaged. Throws Error (where = folder) for a folder without weights and for weights of different tasks; what opening
// a member throws.
std::unique_ptr<EnsembleModel> open_ensemble(const std::string& folder, int threads);

// The same of models already open; at least one.
std::unique_ptr<EnsembleModel> make_ensemble(std::vector<std::unique_ptr<LearnedModel>> members);

// The analytical model in the place of a network, for any task; its defaults when the path is empty. `max_isa`: the limit
// of the instruction set under which kernels are compiled (base/isa.h), empty = none.
std::unique_ptr<LearnedModel> analytical_member(const std::string& path, const std::string& task, int threads,
                                                const std::string& max_isa = "");

}  // namespace hone::cost
