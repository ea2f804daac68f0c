// Models of kernels' run times by gradient-boosted trees (trees.h, kernel_features.h): trained by scripts/train_kernels.py, scored
// without any library.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cost/kernel_network.h"
#include "cost/learned_model.h"
#include "cost/trees.h"
#include "cost/work_model.h"
#include "features/cpu.h"
#include "options/safetensors.h"

namespace hone::cost {

// What trees are told of kernels: a row of features, and what their predictions are relative to, for each option of each kernel.
struct KernelRows {
  std::vector<float> features;  // [options of all, kernel_feature_names().size(), or with what a sum of work adds]
  std::vector<double> base_ns;  // [options of all]: the analytical model's run time, or the sum of work
  std::vector<size_t> ends;     // [kernels], where each one's options end
};
// `work`: a sum of kernel_work_term_names(), or null. Throws Error if a view's widths differ from those of the feature tables.
KernelRows kernel_rows(std::span<const KernelView> kernels, const features::Cpu& cpu, const WorkModel* work = nullptr);

class TreeModel : public LearnedModel {
 public:
  // `network`: predicts what the trees do, and counts kNetworkShare.
  TreeModel(Trees trees, std::string task, bool run_time, const features::Cpu& cpu,
            std::optional<WorkModel> work = std::nullopt, std::optional<KernelNetwork> network = std::nullopt)
      : trees_(std::move(trees)),
        task_(std::move(task)),
        run_time_(run_time),
        cpu_(cpu),
        work_(std::move(work)),
        network_(std::move(network)) {}
  std::string name() const override { return "trees"; }
  std::string task() const override { return task_; }
  bool predicts_runtime() const override { return run_time_; }
  bool predicts_ratios() const override { return !run_time_; }
  void leave_out_networks() override { network_.reset(); }
  std::vector<double> predict(const KernelView& kernel) override { return predict_all({&kernel, 1})[0]; }
  std::vector<std::vector<double>> predict_all(std::span<const KernelView> kernels) override {
    return predict_rows(rows_of(kernels));
  }
  // The same of rows that several models share.
  std::vector<std::vector<double>> predict_rows(const KernelRows& rows) const;
  KernelRows rows_of(std::span<const KernelView> kernels) const {
    return kernel_rows(kernels, cpu_, work_ ? &*work_ : nullptr);
  }
  bool has_rows_of(const TreeModel& other) const { return cpu_ == other.cpu_ && work_ == other.work_; }
  const Trees& trees() const { return trees_; }

 private:
  Trees trees_;
  std::string task_;
  bool run_time_;  // not a ratio
  features::Cpu cpu_;
  std::optional<WorkModel> work_;
  std::optional<KernelNetwork> network_;
};

// Whether a safetensors file holds trees (metadata "format": "hone-trees-1") and not the weights of a network.
bool holds_trees(const options::TensorFile& file);

// Trees for one use: the metadata "task" and "predicts" and the features of their files, what is said of other files, and how they are
// made again.
struct TreeKind {
  const char* task;
  const char* predicts;
  const std::vector<std::string>& features;
  const char* refusal;
  const char* remedy;
};
// Throws the errors of read_safetensors(), and Error (where = path) for trees of another kind and for what is no such file.
Trees open_trees(const std::string& path, const TreeKind& kind);
// The same of a file that was read from `path`.
Trees open_trees(const options::TensorFile& file, const std::string& path, const TreeKind& kind);
// A tensor of type F32. Throws Error where there is none of this name.
std::vector<float> floats_of(const options::TensorFile& file, const char* name);

// The model in such a file. Its metadata: "task" (tile or fusion), "predicts" (what the trees add up to: "run time", the logarithm of
// measured over analytical run time, "run time over work", the same over a sum of work, or "ratio", the logarithm of an option's run time up
// to a constant of the kernel), "features" (names, as kernel_feature_names(), and over work work_feature_names()), "feature_version",
// "base". `cpu`: the machine to predict for. Tensors: feature (I16), value (F32), left (I32), roots (I32), as Trees::Arrays, and work
// (F32), the ns of kernel_work_term_names(); those of a network over work, if there is one (kernel_network.h). Throws Error (where = path) for other features and for what is no such file.
std::unique_ptr<LearnedModel> open_tree_model(const options::TensorFile& file, const std::string& path,
                                              const features::Cpu& cpu);

}  // namespace hone::cost
