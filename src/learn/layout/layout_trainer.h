// Training of layout rankers: K folds, the best of which become an ensemble (Khizbullin et al. 2024, section 2.4).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "learn/layout/layout_trained.h"
#include "options/layout_train_options.h"

namespace hone::learn {

struct LayoutTrainFiles {
  std::string checkpoint;  // written every `checkpoint_every` steps and at the end; empty = none
  int64_t checkpoint_every = 500;
  bool resume = false;  // continue from the checkpoint, if there is one
  std::string log_dir;  // TensorBoard events; empty = none
  std::string command;  // recorded in the weights
};

struct FoldReport {
  int64_t fold = 0, steps = 0, best_step = 0;
  double validation_tau = 0;
  bool stopped_early = false;
};

struct LayoutTrainReport {
  TrainedLayouts trained;
  std::vector<FoldReport> folds;                      // those trained, in order
  int64_t graphs = 0, configurations = 0, nodes = 0;  // training part of the first fold; nodes after pruning
  bool interrupted = false;
  double seconds = 0, configs_per_s = 0;  // of this call; the rate excludes validation
  std::string event_file;
};

// Progress: steps done over all folds, the fold, the loss, the best validation tau of the fold.
using LayoutProgress = std::function<void(int64_t done, int64_t fold, double loss, double best)>;

// All graphs must be of one collection, which selects a network for layouts or for tiles. Trains until every fold is
// done or `interrupted` returns true; the best network so far of an unfinished fold then counts as a member. With one
// thread the result is a function of data and options: a run resumed from its checkpoint ends with the same bits.
// Throws Error for data that cannot be split, a checkpoint of other options, and a loss that is not finite.
LayoutTrainReport train_layouts(const std::vector<options::ConfigGraph>& graphs,
                                const options::LayoutTrainOptions& options, const LayoutTrainFiles& files,
                                const std::function<bool()>& interrupted, const LayoutProgress& progress);

}  // namespace hone::learn
