// The table of model names, and the options that determine the shape of every weight. Without torch, so that the command
// line can check names; stored in weights files as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "options/option_list.h"

namespace hone::options {

enum class Gnn { None, Sage, Gat, Gin };
enum class Reduction { PerNode, ColumnWise, Lstm, Transformer };
// Where features of the whole kernel are concatenated: nowhere, to every node's features (the paper's option 1), or to the
// kernel embedding (option 2).
enum class Join { None, Node, Kernel };

// The twelve networks of Kaufman et al. 2021, Table 4, the same with GIN as a control of the aggregation, and Hone's own
// late-fusion network.
struct ModelName {
  const char* name;
  Gnn gnn;
  Reduction reduction;
  bool late_fusion;  // options are combined with the kernel's embedding at the end, so that many are scored quickly
};
const std::vector<ModelName>& model_names();
// Accepts "fast", the name of late-fusion in weights files of older versions. Throws Error that lists the names.
const ModelName& find_model(const std::string& name);

// Defaults are the paper's fixed values (Table 5) except `hidden`, which is 512 or 1024 in Tables 6 and 7, for a V100.
struct ModelOptions {
  std::string name = "sage+lstm";
  int64_t hidden = 128;
  int64_t opcode_embedding = 256;
  int64_t gnn_layers = 3;
  int64_t module_layers = 0;      // feed-forward layers between the first one and the GNN, or instead of a GNN
  int64_t node_final_layers = 3;  // feed-forward layers on node embeddings before the reduction
  int64_t transformer_layers = 1;
  int64_t transformer_heads = 4;
  int64_t gat_heads = 2;
  int64_t neighbour_cap = 20;  // most neighbours of a node that are used
  bool directed = true;        // separate weights for producers and users
  bool l2_norm = false;        // of node embeddings after every GNN layer
  Join tile_join = Join::Node, static_join = Join::Node;
  bool demand = false;  // options' features also include the counts of the analytical model (analytical.h)
  double dropout = 0.1;

  void validate() const;  // throws Error that names the option
};

template <class Visit>
void for_each_option(ListOf<ModelOptions>, Visit&& visit) {
  using O = ModelOptions;
  visit({"name"}, &O::name);
  visit({"hidden", "width of node embeddings (default 128; with --preset paper the paper's for the model)"},
        &O::hidden);
  visit({"opcode_embedding", "width of opcode embeddings"}, &O::opcode_embedding);
  visit({"gnn_layers", "number of layers of the graph network"}, &O::gnn_layers);
  visit({"module_layers"}, &O::module_layers);
  visit({"node_final_layers"}, &O::node_final_layers);
  visit({"transformer_layers"}, &O::transformer_layers);
  visit({"transformer_heads"}, &O::transformer_heads);
  visit({"gat_heads"}, &O::gat_heads);
  visit({"neighbour_cap"}, &O::neighbour_cap);
  visit({"directed", "use the same weights for producers and users", "--undirected", true}, &O::directed);
  visit({"l2_norm", "normalise node embeddings after every graph layer"}, &O::l2_norm);
  visit({"demand",
         "add what the analytical model counts for each option to its features: bytes per cache, operations, an "
         "estimate"},
        &O::demand);
  visit({"tile_join", "where features of options enter: node, kernel or none (default node)", "--tile"}, &O::tile_join);
  visit({"static_join", "where static performance features enter: node, kernel or none (default node)", "--static"},
        &O::static_join);
  visit({"dropout", "share of values dropped in training (default: the paper's for the model)"}, &O::dropout);
}

nlohmann::json to_json(const ModelOptions& options);
ModelOptions model_options_from_json(const nlohmann::json& json);  // throws Error for unknown or ill-typed members

const char* join_name(Join join);              // "none", "node", "kernel"
Join join_from_name(const std::string& name);  // throws Error

// Widths of a network's input arrays, determined by the feature version of its data.
struct FeatureWidths {
  int64_t node = 0, static_ = 0, tile = 0;
  int64_t demand = 0;  // numbers of the analytical model, computed when a batch is made
  int64_t option() const { return tile + demand; }
  bool operator==(const FeatureWidths&) const = default;
};

}  // namespace hone::options
