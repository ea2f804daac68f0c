#include "options/model_options.h"

#include "base/error.h"
#include "base/suggest.h"
#include "options/option_json.h"
#include "options/require.h"

namespace hone::options {

constexpr char kOldLateFusion[] = "fast";

const std::vector<ModelName>& model_names() {
  static const std::vector<ModelName> table = {
      {"none+per-node", Gnn::None, Reduction::PerNode, false},
      {"none+column-wise", Gnn::None, Reduction::ColumnWise, false},
      {"none+lstm", Gnn::None, Reduction::Lstm, false},
      {"none+transformer", Gnn::None, Reduction::Transformer, false},
      {"sage+per-node", Gnn::Sage, Reduction::PerNode, false},
      {"sage+column-wise", Gnn::Sage, Reduction::ColumnWise, false},
      {"sage+lstm", Gnn::Sage, Reduction::Lstm, false},
      {"sage+transformer", Gnn::Sage, Reduction::Transformer, false},
      {"gat+per-node", Gnn::Gat, Reduction::PerNode, false},
      {"gat+column-wise", Gnn::Gat, Reduction::ColumnWise, false},
      {"gat+lstm", Gnn::Gat, Reduction::Lstm, false},
      {"gat+transformer", Gnn::Gat, Reduction::Transformer, false},
      {"gin+per-node", Gnn::Gin, Reduction::PerNode, false},
      {"gin+column-wise", Gnn::Gin, Reduction::ColumnWise, false},
      {"gin+lstm", Gnn::Gin, Reduction::Lstm, false},
      {"gin+transformer", Gnn::Gin, Reduction::Transformer, false},
      {"late-fusion", Gnn::Sage, Reduction::ColumnWise, true},
  };
  return table;
}

const ModelName& find_model(const std::string& name) {
  std::vector<std::string> known;
  for (const ModelName& row : model_names()) {
    if (name == row.name || (row.late_fusion && name == kOldLateFusion)) return row;
    known.emplace_back(row.name);
  }
  throw unknown_word("model", name, known, "--model");
}

const char* join_name(Join join) {
  switch (join) {
    case Join::None:
      return "none";
    case Join::Node:
      return "node";
    case Join::Kernel:
      return "kernel";
  }
  throw InternalError("join_name: no such value");
}

Join join_from_name(const std::string& name) {
  for (Join join : {Join::None, Join::Node, Join::Kernel})
    if (name == join_name(join)) return join;
  throw unknown_word("place for kernel features", name, {"none", "node", "kernel"}, "");
}

// Called by nlohmann::json.
static void to_json(nlohmann::json& json, Join join) { json = join_name(join); }
static void from_json(const nlohmann::json& json, Join& join) { join = join_from_name(json.get<std::string>()); }

nlohmann::json to_json(const ModelOptions& options) { return write_options(options); }

ModelOptions model_options_from_json(const nlohmann::json& json) {
  ModelOptions options;
  read_options(json, "model", options);
  options.validate();
  return options;
}

void ModelOptions::validate() const {
  const Require require{"model options"};
  const ModelName& row = find_model(name);
  const auto in = [](int64_t value, int64_t low, int64_t high) { return value >= low && value <= high; };
  require(in(hidden, 1, 8192), "hidden", "must be 1 to 8192");
  require(in(opcode_embedding, 1, 4096), "opcode_embedding", "must be 1 to 4096");
  require(in(gnn_layers, 1, 32), "gnn_layers", "must be 1 to 32");
  require(in(module_layers, 0, 32), "module_layers", "must be 0 to 32");
  require(in(node_final_layers, 0, 32), "node_final_layers", "must be 0 to 32");
  require(in(transformer_layers, 1, 32), "transformer_layers", "must be 1 to 32");
  require(in(neighbour_cap, 1, 1 << 20), "neighbour_cap", "must be at least 1");
  require(dropout >= 0 && dropout < 1, "dropout", "must be in [0, 1)");
  if (row.reduction == Reduction::Transformer)
    require(transformer_heads > 0 && hidden % transformer_heads == 0, "hidden",
            "must be a multiple of transformer_heads");
  if (row.gnn == Gnn::Gat)
    require(gat_heads > 0 && hidden % gat_heads == 0, "hidden", "must be a multiple of gat_heads");
}

}  // namespace hone::options
