// What a network consists of: the table of model names, and the options that fix every weight's shape. Without torch, so
// that the command line can check names; stored in weights files as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hone::options {

enum class Gnn { None, Sage, Gat };
enum class Reduction { PerNode, ColumnWise, Lstm, Transformer };
// Where features of the whole kernel enter: nowhere, beside every node's features (the paper's option 1), or beside the
// kernel embedding (option 2).
enum class Join { None, Node, Kernel };

// The grid of Kaufman et al. 2021, Table 4, and our own `fast`.
struct ModelName {
  const char* name;
  Gnn gnn;
  Reduction reduction;
  bool fast;
};
const std::vector<ModelName>& model_names();
const ModelName& find_model(const std::string& name);  // throws Error that lists the names

// Defaults are the paper's fixed values (Table 5) except `hidden`, which Tables 6 and 7 set to 512 or 1024 for a V100.
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
  int64_t neighbour_cap = 20;  // further neighbours of a node are cut off
  bool directed = true;        // other weights for producers than for users
  bool l2_norm = false;        // of node embeddings after every GNN layer
  Join tile_join = Join::Node, static_join = Join::Node;
  bool demand =
      false;  // options also bring what the analytical model counts for them (analytical.h), beside their features
  double dropout = 0.1;

  void validate() const;  // throws Error that names the option
};

nlohmann::json to_json(const ModelOptions& options);
ModelOptions model_options_from_json(const nlohmann::json& json);  // throws Error for unknown or ill-typed members

const char* join_name(Join join);              // "none", "node", "kernel"
Join join_from_name(const std::string& name);  // throws Error

// Widths of the arrays a network reads, fixed by the feature version of its data.
struct FeatureWidths {
  int64_t node = 0, static_ = 0, tile = 0;
  int64_t demand = 0;  // numbers of the analytical model, computed when a batch is made
  int64_t option() const { return tile + demand; }
  bool operator==(const FeatureWidths&) const = default;
};

}  // namespace hone::options
