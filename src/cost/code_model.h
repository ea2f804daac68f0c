// Predicts run times of compiled kernels from their HLO and their machine code together: for whoever has the code before a
// measurement. Trees (trees.h), trained by scripts/train_code_model.py, scored without any library.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cost/leaf_correction.h"
#include "cost/machine_kernels.h"
#include "cost/trees.h"
#include "cost/work_model.h"
#include "data/kernel_view.h"
#include "features/cpu.h"

namespace hone::cost {

// What the trees are told: features of the option (kernel_feature_names()), of its code (features::code_feature_names()),
// "code_cycles_over_analytical", the logarithm of the code's cycles over the nanoseconds of the analytical model, 0 where libraries
// compute, whose code is not there, and how the time is made up (work_feature_names()).
const std::vector<std::string>& code_model_feature_names();

class CodeModel {
 public:
  // The geometric mean of all *.safetensors in a folder. Their metadata are those of tree_model.h; "task" is "code", "predicts" is
  // "run time over work": the logarithm of measured time over the sum of work (work_model.h), whose weights are the tensor "work" (F32),
  // the same in all files. `cpu`: the machine to predict for. Throws Error (where = the file, or the folder) for other features and for
  // what is no such file.
  static CodeModel open(const std::string& folder, const features::Cpu& cpu);

  // Nanoseconds of a kernel's only option, compiled to these ELF objects for x86-64 (none: a library runs it). Throws Error where the
  // objects are none that can be read.
  double predict_ns(const KernelView& kernel, const std::vector<std::string>& objects) const;
  size_t members() const { return members_.size(); }

  // From now on corrected by kernels of the machine (leaf_correction.h), where the others correct one by enough. All zeros where there are
  // too few. `code`: the objects of each kernel's default option.
  LeafCorrection::Verdict correct(const MachineKernels& measured, const std::vector<std::vector<std::string>>& code);

 private:
  struct Row {
    std::vector<float> features;
    double work_ns = 0;
  };
  CodeModel(std::vector<Trees> members, WorkModel work, const features::Cpu& cpu)
      : members_(std::move(members)), work_(std::move(work)), cpu_(cpu) {}
  Row row_of(const KernelView& kernel, const std::vector<std::string>& objects) const;
  double log_ratio(std::span<const float> row) const;  // predicted over the sum of work, not corrected

  std::vector<Trees> members_;
  WorkModel work_;
  features::Cpu cpu_;
  std::unique_ptr<LeafCorrection> correction_;  // null: none
};

}  // namespace hone::cost
