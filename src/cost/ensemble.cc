#include "cost/ensemble.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "cost/analytical.h"
#include "cost/model_file.h"

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
      runtime_ = runtime_ && member->predicts_runtime();
      ratios_ = ratios_ && (member->predicts_runtime() || member->predicts_ratios());
    }
  }
  std::string name() const override { return "ensemble of " + std::to_string(members_.size()); }
  std::string task() const override { return members_.front()->task(); }
  bool predicts_runtime() const override { return runtime_; }
  bool predicts_ratios() const override { return ratios_ && !runtime_; }

  std::vector<std::vector<double>> member_scores(const KernelView& kernel) override {
    std::vector<std::vector<double>> all;
    for (const auto& member : members_) {
      std::vector<double> scores = member->predict(kernel);
      if (member->predicts_runtime())
        for (double& s : scores) s = std::log(s);
      if (ratios_ && !runtime_) centre(scores);
      if (!ratios_) standardise(scores);
      all.push_back(std::move(scores));
    }
    return all;
  }

  std::vector<double> predict(const KernelView& kernel) override {
    std::vector<double> sum;
    for (const std::vector<double>& scores : member_scores(kernel)) {
      if (sum.empty()) sum.resize(scores.size());
      for (size_t i = 0; i < scores.size(); ++i) sum[i] += scores[i] / static_cast<double>(members_.size());
    }
    if (runtime_)
      for (double& s : sum) s = std::exp(s);
    return sum;
  }

 private:
  std::vector<std::unique_ptr<LearnedModel>> members_;
  bool runtime_ = true, ratios_ = true;
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
  std::vector<std::string> weights, analytical;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") weights.push_back(entry.path().string());
    if (entry.path().extension() == ".json") analytical.push_back(entry.path().string());
  }
  if (weights.empty()) throw Error("a folder without weights", folder, "*.safetensors of hone train");
  std::sort(weights.begin(), weights.end());
  std::sort(analytical.begin(), analytical.end());
  std::vector<std::unique_ptr<LearnedModel>> members;
  for (const std::string& path : weights) {
    members.push_back(open_model_file(path, cpu));
    if (members.back()->task() != members.front()->task())
      throw Error("weights of different tasks", folder, path + " was trained on " + members.back()->task() + " data");
  }
  const std::string task = members.front()->task();
  for (const std::string& path : analytical) members.push_back(analytical_member(path, task, cpu));
  return make_ensemble(std::move(members));
}

}  // namespace hone::cost
