// By how much is a form of a convolution or dot faster than XLA's own? Predicted from sizes and machine by trees that
// scripts/train_operations.py trained on generated operations (docs/results/operation-ranker.md).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cost/kernel_ranker.h"
#include "cost/trees.h"
#include "features/cpu.h"

namespace hone::cost {

class OperationRanker : public KernelRanker {
 public:
  // log(time of XLA's own form / time of the form): the median, and the values that one in ten is below and above.
  struct Gain {
    double low = 0, middle = 0, high = 0;
  };

  // `max_isa`, `threads`: of the code that runs. Throws Error (where = path) for a file that is no such model or has other features.
  // `or_similar`: of each family of forms the bounds of the most similar class of machines that has them, where its own has none.
  OperationRanker(const std::string& path, int threads, const std::string& max_isa, bool or_similar = false);
  // "none" = null; "shipped" = that of the folder `models` or else the one that comes with hone, null where there is none that can be
  // read; others are files. Throws the constructor's errors for files.
  static std::unique_ptr<OperationRanker> open(const std::string& model, int threads, const std::string& max_isa,
                                               const std::string& models, bool or_similar = false);

  std::string name() const override { return "operations"; }
  // Predicted once for each operation and form: a search asks again after every experiment. Of an operation that is measured by itself, `under` telling whether its weights are constants. Nothing for operations and forms
  // that the model does not know.
  std::optional<Gain> gain(const Kernel& operation, const std::string& form) const;
  // The gain that nine in ten operations of the family and the form reach at least on machines of this class (see below),
  // calibrated on operations that the model was not trained on. Nothing where none of them were measured, and for
  // operations that do less arithmetic than those.
  std::optional<double> sure_gain(const Kernel& operation, const std::string& form) const;

  std::vector<double> scores(const Kernel& operation, const std::vector<std::string>& forms) override;
  RankedScores rank(const Kernel& operation, const std::vector<std::string>& forms) override;

 private:
  // The trees of some families of operations; those of all others where `families` is empty.
  struct Group {
    std::set<std::string> families;
    Trees low, middle, high;
  };
  std::optional<Gain> predict(const Kernel& operation, const std::string& form) const;

  mutable std::map<std::pair<std::string, std::string>, std::optional<Gain>> known_;  // by fingerprint and form
  std::vector<Group> groups_;  // the first that knows a family predicts it
  features::Cpu cpu_;
  // What calibrates `low` on this machine class.
  struct Bound {
    double correction = 0;       // added
    double least_log_flops = 0;  // log2(1 + floating-point operations) that it holds from
  };
  std::map<std::string, Bound> bounds_;  // by corrected_family()
};

// What forms have in common but for their numbers: "onednn", "split-winograd", "f32-result", ...
std::string form_family(const std::string& form);
// What shares a correction, of a rewrite's key and form: "strided-convolution split-winograd". Empty for keys of no operation that
// the model knows.
std::string corrected_family(const std::string& key, const std::string& form);

}  // namespace hone::cost
