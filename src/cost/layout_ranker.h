// Scores of layout configurations by the weights of `hone train layout`. Networks of TGraph's published code ("tgraph-code"), as
// the shipped ones, are evaluated here, without torch; other models by libhone_learn.so.
#pragma once

#include <string>
#include <vector>

#include "options/config_graph.h"
#include "options/safetensors.h"

namespace hone::cost {

// Scores of all configurations of the only graph in the TpuGraphs file `data` (.npz), lower = faster. Configurations are
// scored in batches drawn from a fixed seed, as by `rank layout` of the library: attention across configurations makes scores
// depend on the batch. Throws Error (where = path) for damaged weights and RunError if other models lack their library.
std::vector<double> rank_layouts(const std::string& data, const std::string& weights, int threads);

// True for the weights of networks that rank_tgraph() evaluates.
bool holds_tgraph(const options::TensorFile& file);
// The same for a graph in memory. Throws Error for weights that are missing or do not fit.
std::vector<double> rank_tgraph(const options::TensorFile& file, const options::ConfigGraph& graph, int threads);

}  // namespace hone::cost
