// Options of a ranker of layout configurations.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "options/option_list.h"

namespace hone::options {

struct LayoutModelOptions {
  // "tgraph": the equations of Khizbullin et al. 2024; "tgraph-code": its authors' code, which differs
  // (listed in tgraph.h); "sage": TpuGraphs' own baseline, a residual GCN; "linear": a sum over nodes and axes;
  // "frequent": the most-frequent-layout rule, which has no network.
  std::string name = "tgraph";
  int64_t hidden = 64;  // the paper: 256
  int64_t blocks = 2;   // graph blocks
  int64_t opcode_embedding = 16, layout_embedding = 4;
  double dropout = 0.2;
  bool channel_attention = true, cross_attention = true, edges = true;  // switched off in the paper's ablations
  bool prune = true;                                                    // only configurable nodes and their neighbours
  bool tiles = false;  // ranks tiles of kernels; set by the data; only for "tgraph", "tgraph-code" and "linear"

  // Throws Error that names the option.
  void validate() const;
};

template <class Visit>
void for_each_option(ListOf<LayoutModelOptions>, Visit&& visit) {
  using O = LayoutModelOptions;
  visit({"name"}, &O::name);
  visit({"hidden", "width of node embeddings (default 64; with --preset paper 256)"}, &O::hidden);
  visit({"blocks", "number of graph blocks"}, &O::blocks);
  visit({"opcode_embedding"}, &O::opcode_embedding);
  visit({"layout_embedding"}, &O::layout_embedding);
  visit({"dropout", "share of values dropped in training (default 0; with --preset paper 0.2)"}, &O::dropout);
  visit({"channel_attention", "ablation: no attention over channels", "--no-channel-attention", true},
        &O::channel_attention);
  visit({"cross_attention", "ablation: configurations do not see each other", "--no-cross-attention", true},
        &O::cross_attention);
  visit({"edges", "ablation: nodes do not see their neighbours", "--no-edges", true}, &O::edges);
  visit({"prune", "ablation: keep nodes far from any configurable one", "--no-prune", true}, &O::prune);
  visit({"tiles"}, &O::tiles);
}

nlohmann::json to_json(const LayoutModelOptions& options);
// Missing members keep their defaults; throws Error for unknown and ill-typed ones.
LayoutModelOptions layout_model_options_from_json(const nlohmann::json& json);

}  // namespace hone::options
