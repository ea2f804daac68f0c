// Weights files of layout rankers as safetensors: an ensemble of networks and the metadata needed to use it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cost/layout_metrics.h"
#include "learn/layout/tgraph.h"
#include "options/layout_parts.h"

namespace hone::learn {

struct TrainedLayouts {
  options::LayoutModelOptions options;
  NodeScale scale;
  options::LayoutSplit split;  // of the data it was trained on
  std::string loss;            // "hinge" or "listmle"
  std::string command;         // the training command
  uint64_t seed = 0;
  std::vector<std::shared_ptr<LayoutNetwork>> members;  // networks of different folds; best validation first
  std::vector<double> validation_tau;                   // of each member
  cost::FrequentLayouts rule;                           // instead of members when options.name is "frequent"
};

// Throws RunError (where = path).
void save_layout_weights(const std::string& path, const TrainedLayouts& trained);
// Throws Error (where = path) for damaged files, other feature versions and weights that do not fit their model.
TrainedLayouts load_layout_weights(const std::string& path);

struct PredictLayouts {
  int64_t augmentations = 1;  // permutations of the configurations that scores are averaged over; the paper: 10
  int64_t batch = 128;        // configurations scored together, at most
  uint64_t seed = 0;          // of the permutations
};

// Scores of configurations of a graph, lower = faster, averaged over members and permutations. Which configurations share a
// batch is drawn from the seed, never taken from their order in the file, which can reveal how a search found them.
std::vector<double> predict_layouts(const TrainedLayouts& trained, const options::ConfigGraph& graph,
                                    std::span<const int32_t> configs, const PredictLayouts& options);
// The same by one network, for a graph that is already prepared.
std::vector<double> predict_layouts(LayoutNetwork& network, const LayoutInputs& inputs,
                                    std::span<const int32_t> configs, const PredictLayouts& options);

}  // namespace hone::learn
