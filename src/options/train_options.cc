#include "options/train_options.h"

#include "base/error.h"
#include "options/option_json.h"
#include "options/require.h"

namespace hone::options {

namespace {

// Rows of Tables 6 and 7. The paper has no GIN: its rows are GraphSAGE's, with gradients clipped, since sums grow with the
// number of neighbours.
struct Tuned {
  const char* model;
  int64_t hidden;
  bool l2_norm;
  int64_t module_layers, transformer_layers, gat_heads;
  double learning_rate, decay;
  bool clip;
  double dropout;
  const char* loss;
};

constexpr Tuned kTile[] = {
    {"none+per-node", 512, false, 3, 1, 2, 0.000802, 1.0, false, 0.1, "rank-hinge"},
    {"none+column-wise", 1024, false, 3, 1, 2, 0.000642, 1.0, false, 0.1, "rank-hinge"},
    {"none+lstm", 512, false, 0, 1, 2, 0.000434, 0.99, true, 0.1, "rank-hinge"},
    {"none+transformer", 1024, false, 0, 3, 2, 0.000424, 0.99, true, 0.1, "rank-hinge"},
    {"sage+per-node", 512, false, 0, 1, 2, 0.001526, 1.0, false, 0.1, "rank-hinge"},
    {"sage+column-wise", 1024, false, 0, 1, 2, 0.000642, 1.0, false, 0.1, "rank-logistic"},
    {"sage+lstm", 1024, false, 0, 1, 2, 0.000386, 0.98, true, 0.1, "rank-hinge"},
    {"sage+transformer", 1024, false, 0, 1, 2, 0.000466, 1.0, true, 0.1, "rank-hinge"},
    {"gat+per-node", 512, false, 0, 1, 2, 0.00001, 1.0, true, 0.1, "rank-hinge"},
    {"gat+column-wise", 512, false, 0, 1, 4, 0.00001, 1.0, true, 0.1, "rank-hinge"},
    {"gat+lstm", 512, false, 0, 1, 4, 0.00001, 0.99, true, 0.1, "rank-hinge"},
    {"gat+transformer", 512, false, 0, 2, 4, 0.00001, 1.0, true, 0.1, "rank-hinge"},
    {"gin+per-node", 512, false, 0, 1, 2, 0.001526, 1.0, true, 0.1, "rank-hinge"},
    {"gin+column-wise", 1024, false, 0, 1, 2, 0.000642, 1.0, true, 0.1, "rank-logistic"},
    {"gin+lstm", 1024, false, 0, 1, 2, 0.000386, 0.98, true, 0.1, "rank-hinge"},
    {"gin+transformer", 1024, false, 0, 1, 2, 0.000466, 1.0, true, 0.1, "rank-hinge"},
    {"late-fusion", 128, false, 0, 1, 2, 0.001, 1.0, true, 0.1, "rank-hinge"},
};
constexpr Tuned kFusion[] = {
    {"none+per-node", 512, false, 3, 1, 2, 0.000214, 0.95, false, 0.2, "mse"},
    {"none+column-wise", 512, false, 3, 1, 2, 0.000102, 1.0, false, 0.25, "mse"},
    {"none+lstm", 512, false, 0, 1, 2, 0.000144, 1.0, false, 0.25, "mse"},
    {"none+transformer", 512, true, 0, 1, 2, 0.000862, 1.0, true, 0.25, "mse"},
    {"sage+per-node", 512, false, 0, 1, 2, 0.000664, 0.9, false, 0.2, "mse"},
    {"sage+column-wise", 1024, false, 0, 1, 2, 0.000469, 0.9, false, 0.2, "mse"},
    {"sage+lstm", 1024, false, 0, 1, 2, 0.000962, 0.9, false, 0.2, "mse"},
    {"sage+transformer", 512, true, 0, 2, 2, 0.000768, 1.0, false, 0.2, "mse"},
    {"gat+per-node", 1024, false, 0, 1, 2, 0.000002, 0.9, false, 0.25, "mse"},
    {"gat+column-wise", 1024, false, 0, 1, 2, 0.000004, 0.95, false, 0.2, "mse"},
    {"gat+lstm", 1024, false, 0, 1, 2, 0.000006, 0.95, false, 0.25, "mse"},
    {"gat+transformer", 1024, false, 0, 2, 2, 0.000001, 1.0, true, 0.2, "mse"},
    {"gin+per-node", 512, false, 0, 1, 2, 0.000664, 0.9, true, 0.2, "mse"},
    {"gin+column-wise", 1024, false, 0, 1, 2, 0.000469, 0.9, true, 0.2, "mse"},
    {"gin+lstm", 1024, false, 0, 1, 2, 0.000962, 0.9, true, 0.2, "mse"},
    {"gin+transformer", 512, true, 0, 2, 2, 0.000768, 1.0, true, 0.2, "mse"},
    {"late-fusion", 128, false, 0, 1, 2, 0.001, 1.0, true, 0.1, "mse"},
};

}  // namespace

void TrainOptions::settle() {
  const Require require{"training options"};
  require(task == "tile" || task == "fusion", "task", "must be tile or fusion");
  const bool tile = task == "tile";
  if (loss.empty()) loss = tile ? "rank-hinge" : "mse";
  require(
      loss == "rank-hinge" || loss == "rank-logistic" || loss == "rank-weighted" || loss == "ratio" || loss == "mse",
      "loss", "must be rank-hinge, rank-logistic, rank-weighted, ratio or mse");
  require(tile || loss == "mse", "loss", "must be mse for fusion: its kernels have one option");
  if (kernels_per_step == 0) kernels_per_step = tile ? 8 : 64;
  if (!tile) options_per_kernel = 1;
  require(steps >= 1, "steps", "must be at least 1");
  require(learning_rate > 0 && learning_rate <= 1, "learning_rate", "must be in (0, 1]");
  require(decay > 0 && decay <= 1, "decay", "must be in (0, 1]");
  require(decay_steps >= 1, "decay_steps", "must be at least 1");
  require(clip_norm >= 0, "clip_norm", "must not be negative");
  require(kernels_per_step >= 1 && kernels_per_step <= 65536, "kernels_per_step", "must be 1 to 65536");
  require(options_per_kernel >= (ranks() ? 2 : 1), "options_per_kernel", "must be at least 2 for ranking");
  require(balance == "program" || balance == "family" || balance == "kernel", "balance",
          "must be program, family or kernel");
  require(validate_every >= 1, "validate_every", "must be at least 1");
  require(patience >= 0, "patience", "must not be negative");
  require(validation_kernels >= 1, "validation_kernels", "must be at least 1");
  require(validation_options >= 2, "validation_options", "must be at least 2");
  require(threads >= 1 && threads <= 1024, "threads", "must be 1 to 1024");
  require(processes >= 1 && processes <= 256, "processes", "must be 1 to 256");
  require(rank >= 0 && rank < processes, "rank", "must be below the number of processes");
  require(processes == 1 || !rendezvous.empty(), "rendezvous", "must be given for several processes");
  model.validate();
}

nlohmann::json to_json(const TrainOptions& options) {
  nlohmann::json json = write_options(options);
  json["model"] = to_json(options.model);
  return json;
}

TrainOptions train_options_from_json(const nlohmann::json& json) {
  TrainOptions options;
  const bool has_model = json.is_object() && json.contains("model");
  read_options(json, "training", options, has_model);
  if (has_model) options.model = model_options_from_json(json.at("model"));
  return options;
}

TrainOptions paper_options(const std::string& task, const std::string& model) {
  const std::string name = find_model(model).name;
  if (task != "tile" && task != "fusion") throw Error("no such task: " + task, "", "tile or fusion");
  for (const Tuned& row : task == "tile" ? kTile : kFusion) {
    if (name != row.model) continue;
    TrainOptions options;
    options.task = task;
    options.loss = row.loss;
    options.learning_rate = row.learning_rate;
    options.decay = row.decay;
    options.clip_norm = row.clip ? 1 : 0;
    options.model.name = name;
    options.model.hidden = row.hidden;
    options.model.l2_norm = row.l2_norm;
    options.model.module_layers = row.module_layers;
    options.model.transformer_layers = row.transformer_layers;
    options.model.gat_heads = row.gat_heads;
    options.model.dropout = row.dropout;
    return options;
  }
  throw InternalError("paper_options: a model without a row");
}

}  // namespace hone::options
