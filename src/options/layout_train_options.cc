#include "options/layout_train_options.h"

#include "base/error.h"
#include "options/option_json.h"

namespace hone::options {

namespace {

template <class O, class Visit>
void each_option(O& o, Visit&& visit) {
  visit("loss", o.loss);
  visit("steps", o.steps);
  visit("configs_per_step", o.configs_per_step);
  visit("learning_rate", o.learning_rate);
  visit("weight_decay", o.weight_decay);
  visit("warmup", o.warmup);
  visit("clip_norm", o.clip_norm);
  visit("train_folds", o.train_folds);
  visit("keep", o.keep);
  visit("validate_every", o.validate_every);
  visit("patience", o.patience);
  visit("validation_configs", o.validation_configs);
  visit("seed", o.seed);
  visit("threads", o.threads);
}

void require(bool fine, const char* option, const char* what) {
  if (!fine) throw Error(what, option);
}

}  // namespace

void LayoutTrainOptions::validate() const {
  model.validate();
  split.validate();
  require(loss == "hinge" || loss == "listmle", "--loss", "must be hinge or listmle");
  require(steps >= 1, "--steps", "must be at least 1");
  require(configs_per_step >= 2, "--configs", "a pair takes at least 2");
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
  // Of a mean over hundreds of nodes one layout moves a few hundredths, less than what dropout does to it: without, and with
  // larger steps, validation is as good after a third of the steps.
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
  nlohmann::json json = {{"model", to_json(options.model)}, {"split", to_json(options.split)}};
  each_option(options, [&](const char* name, const auto& member) { json[name] = member; });
  return json;
}

LayoutTrainOptions layout_train_options_from_json(const nlohmann::json& json) {
  LayoutTrainOptions options;
  read_options(
      json, "training", [&](auto&& visit) { each_option(options, visit); },
      json.contains("model") + json.contains("split"));
  if (json.contains("model")) options.model = layout_model_options_from_json(json.at("model"));
  if (json.contains("split")) options.split = layout_split_from_json(json.at("split"));
  options.validate();
  return options;
}

}  // namespace hone::options
