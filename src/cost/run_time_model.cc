#include "cost/run_time_model.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/isa.h"
#include "base/machine.h"
#include "base/xla_version.h"
#include "cost/ensemble.h"
#include "cost/kernel_ranker.h"
#include "cost/leaf_correction.h"
#include "cost/learn_library.h"
#include "cost/shipped.h"
#include "cost/tree_model.h"
#include "data/code_store.h"

namespace hone::cost {
namespace {

// The trees that a model is made of; none if it is made of others, too, or predicts no run times.
std::vector<const TreeModel*> trees_within(LearnedModel& model) {
  if (!model.predicts_runtime()) return {};
  if (auto* trees = dynamic_cast<TreeModel*>(&model)) return {trees};
  if (auto* ensemble = dynamic_cast<EnsembleModel*>(&model)) return ensemble->only_trees();
  return {};
}

// The geometric mean of the trees, as their ensemble's, corrected; rows are made once.
class CorrectedModel : public LearnedModel {
 public:
  CorrectedModel(std::unique_ptr<LearnedModel> model, LeafCorrection correction)
      : model_(std::move(model)), members_(trees_within(*model_)), correction_(std::move(correction)) {}
  std::string name() const override { return model_->name() + ", corrected for this machine"; }
  std::string task() const override { return model_->task(); }
  bool predicts_runtime() const override { return true; }
  std::vector<double> predict(const KernelView& kernel) override { return predict_all({&kernel, 1})[0]; }
  std::vector<std::vector<double>> predict_all(std::span<const KernelView> kernels) override {
    const KernelRows rows = members_[0]->rows_of(kernels);
    const size_t width = rows.features.size() / std::max<size_t>(1, rows.base_ns.size());
    std::vector<std::vector<double>> logs(kernels.size());
    for (const TreeModel* member : members_) {
      const auto ns = member->predict_rows(rows);
      for (size_t k = 0; k < ns.size(); ++k) {
        logs[k].resize(ns[k].size());
        for (size_t o = 0; o < ns[k].size(); ++o)
          logs[k][o] += std::log(ns[k][o]) / static_cast<double>(members_.size());
      }
    }
    size_t row = 0;
    for (std::vector<double>& of_kernel : logs)
      for (double& log : of_kernel)
        log = std::exp(log + correction_.log_factor(std::span(rows.features).subspan(width * row++, width)));
    return logs;
  }

 private:
  std::unique_ptr<LearnedModel> model_;  // whose trees these are
  std::vector<const TreeModel*> members_;
  LeafCorrection correction_;
};

struct Measured {
  std::vector<float> rows;
  std::vector<double> log_ratios;  // over what the model predicts
};

// `trees`: of those that the model is made of.
Measured measured_rows(LearnedModel& model, const TreeModel& trees, const MachineKernels& measured) {
  Measured found;
  for (size_t i = 0; i < measured.kernels.size(); ++i) try {
      const EncodedOptions encoded(measured.kernels[i], {measured.kernels[i].default_value()});
      const double predicted = model.predict(encoded.view()).at(0);
      const KernelRows rows = trees.rows_of({&encoded.view(), 1});
      found.rows.insert(found.rows.end(), rows.features.begin(), rows.features.end());
      found.log_ratios.push_back(std::log(measured.ns[i] / predicted));
    } catch (const Error& e) {
      spdlog::debug("{} corrects nothing: {}", measured.kernels[i].name, e.what());
    }
  return found;
}

// nullopt where nothing can be said: too few kernels, or a model that is not of trees alone.
std::optional<LeafCorrection> correction_by(LearnedModel& model, const MachineKernels& measured) {
  const std::vector<const TreeModel*> members = trees_within(model);
  if (members.empty() || measured.kernels.size() < kLeastKernels) return std::nullopt;
  const Measured found = measured_rows(model, *members[0], measured);
  if (found.log_ratios.size() < kLeastKernels) return std::nullopt;
  std::vector<const Trees*> trees;
  for (const TreeModel* member : members) trees.push_back(&member->trees());
  LeafCorrection correction(std::move(trees), found.rows, found.log_ratios);
  spdlog::debug("{} kernels of this machine: error {:.3f}, corrected by the others {:.3f}", found.log_ratios.size(),
                correction.error(), correction.held_out_error());
  return correction;
}

}  // namespace

std::unique_ptr<LearnedModel> correct(std::unique_ptr<LearnedModel> model, const MachineKernels& measured) {
  std::optional<LeafCorrection> correction = correction_by(*model, measured);
  if (!correction || !correction->helps()) return model;
  return std::make_unique<CorrectedModel>(std::move(model), *std::move(correction));
}

MachineVerdicts machine_verdicts(const std::string& max_isa) {
  MachineVerdicts verdicts;
  if (const std::string weights = shipped_model("fusion"); !weights.empty()) {
    const auto model = load_learned_model(weights, features::this_cpu(1, max_isa));
    const auto correction = correction_by(*model, measured_on(machine_database(), this_host(max_isa)));
    if (correction) verdicts.before_compiling = correction->verdict();
  }
  if (const std::string weights = shipped_model("code"); !weights.empty())
    verdicts.by_code = open_code_model(weights, max_isa).correction;
  return verdicts;
}

std::unique_ptr<LearnedModel> open_run_time_model(const std::string& weights, int threads, const std::string& max_isa,
                                                  bool networks) {
  std::unique_ptr<LearnedModel> model = load_learned_model(weights, features::this_cpu(threads, max_isa), networks);
  if (threads != 1) return model;
  MachineKernels measured;
  try {
    measured = measured_on(machine_database(), this_host(max_isa));
  } catch (const Error& e) {
    spdlog::warn("run times are not corrected for this machine: {}", e.what());
  }
  return correct(std::move(model), measured);
}

std::unique_ptr<LearnedModel> open_shipped_run_time_model(const std::string& models, int threads,
                                                          const std::string& max_isa) {
  const std::string shipped = shipped_model("fusion", models);
  if (!shipped.empty()) try {
      return open_run_time_model(shipped, threads, max_isa);
    } catch (const Error& e) {
      spdlog::warn("predicting by the analytical model: {}", e.what());
    }
  return analytical_member("", "fusion", features::this_cpu(threads, max_isa));
}

OpenCodeModel open_code_model(const std::string& weights, const std::string& max_isa) {
  OpenCodeModel opened{CodeModel::open(weights, features::this_cpu(1, max_isa))};
  try {
    const MachineKernels all = measured_on(machine_database(), this_host(max_isa));
    if (all.kernels.empty()) return opened;
    CodeStore store(machine_code_folder());
    MachineKernels measured;
    std::vector<std::vector<std::string>> objects;
    for (size_t i = 0; i < all.kernels.size(); ++i) {
      const std::string isa = max_isa.empty() ? cpu_isa() : max_isa;
      auto code = store.find({all.kernels[i].fingerprint, "", isa, kXlaVersion});
      if (!code || !code->compiled) continue;
      measured.kernels.push_back(all.kernels[i]);
      measured.ns.push_back(all.ns[i]);
      objects.push_back(std::move(code->objects));
    }
    opened.correction = opened.model.correct(measured, objects);
  } catch (const Error& e) {
    spdlog::warn("run times are not corrected for this machine: {}", e.what());
  }
  return opened;
}

}  // namespace hone::cost
