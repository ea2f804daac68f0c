// Ensembles of models: members trained with different seeds make different errors; the analytical model makes none that are
// very large.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cost/learned_model.h"
#include "features/cpu.h"

namespace hone::cost {

class TreeModel;

// A model that also returns the predictions of its members.
class EnsembleModel : public LearnedModel {
 public:
  // [members][options], in the order of opening, as averaged by predict(): logarithms of run times if all predict run times,
  // logarithms up to a constant if all predict at least ratios of them, else scores of mean 0 and standard deviation 1.
  virtual std::vector<std::vector<double>> member_scores(const KernelView& kernel) = 0;
  // The members, if all are trees for one machine; else none.
  virtual std::vector<const TreeModel*> only_trees() const = 0;
};

// Opens every *.safetensors (weights of hone train) and *.json (analytical models of hone eval --save) in a folder, in the
// order of their names. If all members predict run times, the ensemble predicts their geometric mean. Otherwise it
// ranks: within each kernel every member's scores (run times as logarithms) are shifted to mean 0 and scaled to standard
// deviation 1 (ratios are only shifted), and averaged. Throws Error (where = folder) for a folder without
// weights or with weights of different tasks, and the errors of opening a member.
std::unique_ptr<EnsembleModel> open_ensemble(const std::string& folder, const features::Cpu& cpu);

// The same for open models; at least one.
std::unique_ptr<EnsembleModel> make_ensemble(std::vector<std::unique_ptr<LearnedModel>> members);

// The analytical model as a member, for any task; with default coefficients if the path is empty.
std::unique_ptr<LearnedModel> analytical_member(const std::string& path, const std::string& task,
                                                const features::Cpu& cpu);

}  // namespace hone::cost
