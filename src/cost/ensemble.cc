#include "cost/ensemble.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "cost/analytical.h"
#include "cost/model_file.h"
#include "cost/tree_model.h"

namespace hone::cost {

namespace {

class AnalyticalMember : public LearnedModel {
 public:
  AnalyticalMember(AnalyticalModel model, std::string task) : model_(std::move(model)), task_(std::move(task)) {}
  std::string name() const override { return "analytical"; }
  std::string task() const override { return task_; }
  bool predicts_runtime() const override { return true; }
  std::vector<double> predict(const KernelView& kernel) override { return model_.predict(kernel); }

 private:
  AnalyticalModel model_;
  std::string task_;
};

// Shifts to mean 0.
void centre(std::vector<double>& scores) {
  const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size());
  for (double& s : scores) s -= mean;
}

// Shifts and scales to mean 0 and standard deviation 1; equal scores become 0.
void standardise(std::vector<double>& scores) {
  centre(scores);
  double squares = 0;
  for (double s : scores) squares += s * s;
  const double deviation = std::sqrt(squares / static_cast<double>(scores.size()));
  for (double& s : scores) s = deviation > 0 ? s / deviation : 0;
}

class Ensemble : public EnsembleModel {
 public:
  explicit Ensemble(std::vector<std::unique_ptr<LearnedModel>> members) : members_(std::move(members)) {
    for (const auto& member : members_) {
      trees_.push_back(dynamic_cast<const TreeModel*>(member.get()));
      if (trees_.back()) same_rows_ = same_rows_ && trees_.back()->has_rows_of(*first_trees());
      runtime_ = runtime_ && member->predicts_runtime();
      ratios_ = ratios_ && (member->predicts_runtime() || member->predicts_ratios());
    }
  }
  std::string name() const override { return "ensemble of " + std::to_string(members_.size()); }
  std::string task() const override { return members_.front()->task(); }
  bool predicts_runtime() const override { return runtime_; }
  bool predicts_ratios() const override { return ratios_ && !runtime_; }

  void leave_out_networks() override {
    for (const auto& member : members_) member->leave_out_networks();
  }

  std::vector<std::vector<double>> member_scores(const KernelView& kernel) override {
    std::vector<std::vector<double>> all;
    for (auto& scores : scores_of_members({&kernel, 1})) all.push_back(std::move(scores[0]));
    return all;
  }

  std::vector<const TreeModel*> only_trees() const override {
    const bool all = same_rows_ && std::find(trees_.begin(), trees_.end(), nullptr) == trees_.end();
    return all ? trees_ : std::vector<const TreeModel*>{};
  }

  std::vector<double> predict(const KernelView& kernel) override { return predict_all({&kernel, 1})[0]; }

  std::vector<std::vector<double>> predict_all(std::span<const KernelView> kernels) override {
    std::vector<std::vector<double>> sums(kernels.size());
    for (const auto& of_member : scores_of_members(kernels))
      for (size_t k = 0; k < sums.size(); ++k) {
        sums[k].resize(of_member[k].size());
        for (size_t i = 0; i < sums[k].size(); ++i)
          sums[k][i] += of_member[k][i] / static_cast<double>(members_.size());
      }
    if (runtime_)
      for (std::vector<double>& sum : sums)
        for (double& s : sum) s = std::exp(s);
    return sums;
  }

 private:
  // [members][kernels][options]
  std::vector<std::vector<std::vector<double>>> scores_of_members(std::span<const KernelView> kernels) {
    std::vector<std::vector<std::vector<double>>> all;
    std::optional<KernelRows> rows;  // most of the time of trees, and mostly the same for all
    for (size_t i = 0; i < members_.size(); ++i) {
      if (trees_[i] && (!rows || !same_rows_)) rows = trees_[i]->rows_of(kernels);
      all.push_back(trees_[i] ? trees_[i]->predict_rows(*rows) : members_[i]->predict_all(kernels));
      for (std::vector<double>& scores : all.back()) {
        if (members_[i]->predicts_runtime())
          for (double& s : scores) s = std::log(s);
        if (ratios_ && !runtime_) centre(scores);
        if (!ratios_) standardise(scores);
      }
    }
    return all;
  }

  const TreeModel* first_trees() const {
    return *std::find_if(trees_.begin(), trees_.end(), [](auto* t) { return t; });
  }

  std::vector<std::unique_ptr<LearnedModel>> members_;
  std::vector<const TreeModel*> trees_;  // of each member; null for others
  bool runtime_ = true, ratios_ = true, same_rows_ = true;
};

}  // namespace

std::unique_ptr<EnsembleModel> make_ensemble(std::vector<std::unique_ptr<LearnedModel>> members) {
  if (members.empty()) throw InternalError("an ensemble without members");
  return std::make_unique<Ensemble>(std::move(members));
}

std::unique_ptr<LearnedModel> analytical_member(const std::string& path, const std::string& task,
                                                const features::Cpu& cpu) {
  return std::make_unique<AnalyticalMember>(AnalyticalModel::load(path, cpu), task);
}

std::unique_ptr<EnsembleModel> open_ensemble(const std::string& folder, const features::Cpu& cpu) {
  const std::vector<std::string> weights = files_in(folder, ".safetensors");
  if (weights.empty()) throw Error("a folder without weights", folder, "*.safetensors of hone train");
  std::vector<std::unique_ptr<LearnedModel>> members;
  for (const std::string& path : weights) {
    members.push_back(open_model_file(path, cpu));
    if (members.back()->task() != members.front()->task())
      throw Error("weights of different tasks", folder, path + " was trained on " + members.back()->task() + " data");
  }
  const std::string task = members.front()->task();
  for (const std::string& path : files_in(folder, ".json")) members.push_back(analytical_member(path, task, cpu));
  return make_ensemble(std::move(members));
}

}  // namespace hone::cost
