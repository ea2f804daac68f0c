#include "cost/code_model.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/files.h"
#include "cost/kernel_features.h"
#include "cost/kernel_ranker.h"
#include "cost/tree_model.h"
#include "features/code_features.h"

namespace hone::cost {
namespace {

constexpr double kLeastCycles = 50;  // of code that does more than to call a library

// As CodeRows.ratio in scripts/code_rows.py, which has the cycles as a feature's float.
float cycles_over_analytical(const features::CodeSummary& code, double analytical_ns) {
  const auto cycles = static_cast<double>(static_cast<float>(std::log1p(code.cycles)));
  if (code.objects == 0 || cycles <= std::log(kLeastCycles)) return 0;
  return static_cast<float>(cycles - std::log(analytical_ns));
}

}  // namespace

const std::vector<std::string>& code_model_feature_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = kernel_feature_names();
    const std::vector<std::string>&code = features::code_feature_names(), work = work_feature_names(work_term_names());
    all.insert(all.end(), code.begin(), code.end());
    all.emplace_back("code_cycles_over_analytical");
    all.insert(all.end(), work.begin(), work.end());
    return all;
  }();
  return names;
}

CodeModel CodeModel::open(const std::string& folder, const features::Cpu& cpu) {
  std::vector<Trees> members;
  std::optional<WorkModel> work;
  const TreeKind kind{"code", "run time over work", code_model_feature_names(),
                      "no trees for run times of compiled kernels", "make code-model trains them again"};
  for (const std::string& path : files_in(folder, ".safetensors")) {
    const options::TensorFile file = options::read_safetensors(path);
    members.push_back(open_trees(file, path, kind));
    try {
      WorkModel own(floats_of(file, "work"), work_term_names(), code_model_feature_names());
      if (work && !(*work == own)) throw Error("its weights of work differ from those of the folder's other files");
      work = std::move(own);
    } catch (const Error& e) {
      throw Error(e.what(), path, kind.remedy);
    }
  }
  if (members.empty()) throw Error("no weights in the folder", folder, "make code-model writes them");
  return {std::move(members), *std::move(work), cpu};
}

CodeModel::Row CodeModel::row_of(const KernelView& kernel, const std::vector<std::string>& objects) const {
  KernelRows rows = kernel_rows({&kernel, 1}, cpu_);
  if (rows.base_ns.size() != 1) throw InternalError("code is of one option");
  const features::CodeSummary code = features::summary_of_code(objects);
  const std::vector<float> of_code = features::code_features(code);
  rows.features.insert(rows.features.end(), of_code.begin(), of_code.end());
  rows.features.push_back(cycles_over_analytical(code, rows.base_ns[0]));
  const double work_ns = work_.append(rows.base_ns[0], rows.features);
  return {std::move(rows.features), work_ns};
}

double CodeModel::log_ratio(std::span<const float> row) const {
  double sum = 0;
  for (const Trees& member : members_) sum += member.predict(row);
  return sum / static_cast<double>(members_.size());
}

double CodeModel::predict_ns(const KernelView& kernel, const std::vector<std::string>& objects) const {
  const Row row = row_of(kernel, objects);
  const double factor = correction_ ? correction_->log_factor(row.features) : 0;
  return row.work_ns * std::exp(log_ratio(row.features) + factor);
}

LeafCorrection::Verdict CodeModel::correct(const MachineKernels& measured,
                                           const std::vector<std::vector<std::string>>& code) {
  correction_.reset();
  if (code.size() != measured.kernels.size()) throw InternalError("kernels of a machine without their code");
  std::vector<float> rows;
  std::vector<double> log_ratios;
  for (size_t i = 0; i < code.size(); ++i) try {
      const Row row =
          row_of(EncodedOptions(measured.kernels[i], {measured.kernels[i].default_value()}).view(), code[i]);
      rows.insert(rows.end(), row.features.begin(), row.features.end());
      log_ratios.push_back(std::log(measured.ns[i] / row.work_ns) - log_ratio(row.features));
    } catch (const Error& e) {
      spdlog::debug("{} corrects nothing: {}", measured.kernels[i].name, e.what());
    }
  if (log_ratios.size() < kLeastKernels) return {};
  std::vector<const Trees*> trees;
  for (const Trees& member : members_) trees.push_back(&member);
  auto correction = std::make_unique<LeafCorrection>(std::move(trees), rows, log_ratios);
  const LeafCorrection::Verdict verdict = correction->verdict();
  if (verdict.helps) correction_ = std::move(correction);
  return verdict;
}

}  // namespace hone::cost
