#include "options/layout_train_options.h"

#include "base/error.h"
#include "options/option_json.h"

namespace hone::options {

namespace {

void require(bool fine, const char* option, const char* what) {
  if (!fine) throw Error(what, option);
}

}  // namespace

void LayoutTrainOptions::validate() const {
  model.validate();
  split.validate();
  require(loss == "hinge" || loss == "listmle", "--loss", "must be hinge or listmle");
  require(steps >= 1, "--steps", "must be at least 1");
  require(configs_per_step >= 2, "--configs", "must be at least 2, for a pair");
  require(learning_rate > 0 && learning_rate <= 1, "--learning-rate", "must be above 0, at most 1");
  require(weight_decay >= 0 && weight_decay < 1, "--weight-decay", "must be 0 to below 1");
  require(warmup >= 0 && warmup < 1, "--warmup", "must be a share from 0 to below 1");
  require(clip_norm >= 0, "--clip-norm", "must not be negative");
  require(train_folds >= 1, "--train-folds", "must be at least 1");
  require(keep >= 1, "--keep", "must be at least 1");
  require(validate_every >= 1, "--validate-every", "must be at least 1");
  require(patience >= 0, "--patience", "must not be negative");
  require(validation_configs >= 2, "--validation-configs", "must be at least 2");
  require(threads >= 1 && threads <= 1024, "--threads", "must be 1 to 1024");
}

LayoutTrainOptions layout_defaults(const std::string& model, bool small) {
  LayoutTrainOptions options;
  options.model.name = model;
  if (!small) options.model.hidden = 256;
  // One layout changes the mean over hundreds of nodes by a few hundredths, less than dropout does: without dropout, and with a
  // larger learning rate, validation is as good after a third of the steps.
  if (small) options.model.dropout = 0;
  if (small) options.learning_rate = 3e-3;
  if (model == "sage") {
    options.model.hidden = options.model.opcode_embedding = 32;
    options.model.dropout = 0;
    options.learning_rate = 1e-3;
    options.model.prune = false;
    options.loss = "listmle";
    options.configs_per_step = 16;
    options.clip_norm = 1e-2;
    options.weight_decay = 0;
  }
  if (model == "linear") options.learning_rate = 1e-2;
  return options;
}

nlohmann::json to_json(const LayoutTrainOptions& options) {
  nlohmann::json json = write_options(options);
  json["model"] = to_json(options.model);
  json["split"] = to_json(options.split);
  return json;
}

LayoutTrainOptions layout_train_options_from_json(const nlohmann::json& json) {
  LayoutTrainOptions options;
  read_options(json, "training", options, json.contains("model") + json.contains("split"));
  if (json.contains("model")) options.model = layout_model_options_from_json(json.at("model"));
  if (json.contains("split")) options.split = layout_split_from_json(json.at("split"));
  options.validate();
  return options;
}

}  // namespace hone::options
