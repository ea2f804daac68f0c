#include "cli/layout_model.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "cost/learn_library.h"
#include "data/dataset.h"
#include "options/layout_train_options.h"

namespace hone::cli {

namespace {

using nlohmann::json;

struct TrainLayout {
  std::string data, cache, out, model = "tgraph", preset = "small", checkpoint, log_dir;
  int64_t checkpoint_every = 500;
  bool resume = false, no_channel = false, no_cross = false, no_edges = false, no_prune = false;
  options::LayoutTrainOptions given;  // what the options below set
  std::shared_ptr<OutputOptions> output;
  CLI::App* app = nullptr;
};

struct EvalLayout {
  std::string data, cache, part = "test";
  std::vector<std::string> weights;
  int64_t augment = 1, batch = 128;
  uint64_t seed = 0;
  int threads = 1;
  std::shared_ptr<OutputOptions> output;
};

cost::LearnHost host_of(const OutputOptions& output) {
  return {interrupted, output.quiet ? 0 : output.verbose ? 2 : 1};
}

// The model's defaults, replaced by what was given on the command line.
options::LayoutTrainOptions settled(const TrainLayout& c) {
  options::LayoutTrainOptions o = options::layout_defaults(c.model, c.preset == "small");
  const options::LayoutTrainOptions& g = c.given;
  const auto take = [&](const char* option, auto& into, const auto& value) {
    if (c.app->count(option) > 0) into = value;
  };
  take("--hidden", o.model.hidden, g.model.hidden);
  take("--blocks", o.model.blocks, g.model.blocks);
  take("--dropout", o.model.dropout, g.model.dropout);
  if (g.split.by != "graphs" && g.split.by != "configs") {
    o.split.test = Split::read(g.split.by).test;
    if (o.split.test.empty()) throw Error("no program is in the part test", g.split.by);
  } else {
    take("--split", o.split.by, g.split.by);
  }
  take("--hold-out", o.split.hold_out, g.split.hold_out);
  take("--split-seed", o.split.seed, g.split.seed);
  take("--folds", o.split.folds, g.split.folds);
  take("--train-folds", o.train_folds, g.train_folds);
  take("--keep", o.keep, g.keep);
  take("--loss", o.loss, g.loss);
  take("--steps", o.steps, g.steps);
  take("--configs", o.configs_per_step, g.configs_per_step);
  take("--learning-rate", o.learning_rate, g.learning_rate);
  take("--weight-decay", o.weight_decay, g.weight_decay);
  take("--warmup", o.warmup, g.warmup);
  take("--clip-norm", o.clip_norm, g.clip_norm);
  take("--validate-every", o.validate_every, g.validate_every);
  take("--validation-configs", o.validation_configs, g.validation_configs);
  take("--patience", o.patience, g.patience);
  take("--seed", o.seed, g.seed);
  take("--threads", o.threads, g.threads);
  if (c.no_channel) o.model.channel_attention = false;
  if (c.no_cross) o.model.cross_attention = false;
  if (c.no_edges) o.model.edges = false;
  if (c.no_prune) o.model.prune = false;
  return o;
}

void print_training(const json& r) {
  fmt::print("{} on {} configurations of {} graphs ({} nodes){}\n", r.at("model").get<std::string>(),
             r.at("configurations").get<int64_t>(), r.at("graphs").get<int64_t>(), r.at("nodes").get<int64_t>(),
             r.at("interrupted").get<bool>() ? ", interrupted" : "");
  for (const json& fold : r.at("folds"))
    fmt::print("fold {}: {} steps{}, best at step {}, validation tau {:.3f}\n", fold.at("fold").get<int64_t>(),
               fold.at("steps").get<int64_t>(), fold.at("stopped_early").get<bool>() ? ", stopped early" : "",
               fold.at("best_step").get<int64_t>(), fold.at("validation_tau").get<double>());
  fmt::print("{:.0f} s, {:.0f} configurations/s; {} networks kept\nweights: {}\n", r.at("seconds").get<double>(),
             r.at("configurations_per_second").get<double>(), r.at("members").get<int64_t>(),
             r.at("output").get<std::string>());
}

int run_train_layout(const TrainLayout& c) {
  const options::LayoutTrainOptions options = settled(c);
  options.validate();
  if (c.resume && c.checkpoint.empty()) throw Error("nothing to resume from", "--resume", "give --checkpoint FILE");
  const json request = {{"data", c.data},
                        {"cache", c.cache},
                        {"out", c.out},
                        {"options", to_json(options)},
                        {"checkpoint", c.checkpoint},
                        {"checkpoint_every", c.checkpoint_every},
                        {"resume", c.resume},
                        {"log_dir", c.log_dir},
                        {"command", command_line()},
                        {"quiet", c.output->quiet}};
  const json response = cost::run_learn_command("train layout", request, host_of(*c.output));
  if (c.output->json)
    print(response);
  else
    print_training(response);
  return 0;
}

void print_block(const json& r, const std::string& title, const char* metric, double scale, const char* format) {
  fmt::print("{}\n{:<40}", title, "graph");
  for (const auto& [label, about] : r.at("models").items())
    fmt::print(" {:>{}}", label, std::max<size_t>(label.size(), 15));
  fmt::print("\n");
  const auto row = [&](const std::string& name, const json& cells) {
    fmt::print("{:<40.40}", name);
    for (const auto& [label, about] : r.at("models").items()) {
      const json& cell = cells.at(label);
      std::string text = fmt::format(fmt::runtime(format), cell.at(metric).get<double>() * scale);
      if (metric == std::string("kendall_tau") && cell.at("seeds").get<int64_t>() > 1)
        text += fmt::format(" +- {:.3f}", cell.at("kendall_tau_spread").get<double>());
      fmt::print(" {:>{}}", text, std::max<size_t>(label.size(), 15));
    }
    fmt::print("\n");
  };
  for (const json& graph : r.at("graphs")) row(graph.at("graph"), graph.at("models"));
  if (r.at("graphs").size() > 1) row("mean", r.at("mean"));
}

int run_eval_layout(const EvalLayout& c) {
  const json request = {{"data", c.data}, {"cache", c.cache},     {"weights", c.weights},
                        {"part", c.part}, {"augment", c.augment}, {"batch", c.batch},
                        {"seed", c.seed}, {"threads", c.threads}, {"quiet", c.output->quiet}};
  const json r = cost::run_learn_command("eval layout", request, host_of(*c.output));
  if (c.output->json) {
    print(r);
    return 0;
  }
  const std::string held = r.at("held_out");
  fmt::print("{}\n\n", held == "configs"  ? "held-out configurations of programs that were trained on"
                       : held == "graphs" ? "held-out programs"
                                          : "all configurations of the data");
  print_block(r, "Kendall's tau", "kendall_tau", 1, "{:.3f}");
  print_block(r, "\nordered pairs, %", "pair_accuracy", 100, "{:.1f}");
  print_block(r, "\nslowdown of the top 1, %", "slowdown_top1", 100, "{:.2f}");
  print_block(r, "\nslowdown of the top 10, %", "slowdown_top10", 100, "{:.2f}");
  print_block(r, "\nslowdown of the top 100, %", "slowdown_top100", 100, "{:.2f}");
  print_block(r, "\n2 - best of the top 5 / best", "tile_score", 1, "{:.4f}");
  return 0;
}

void add_network_options(CLI::App& app, TrainLayout& c) {
  options::LayoutModelOptions& m = c.given.model;
  app.add_option("--model", c.model,
                 "tgraph (the paper's equations), tgraph-code (as published), sage, linear, frequent");
  app.add_option("--preset", c.preset, "small: 64 wide; paper: 256, for a GPU's patience")
      ->check(CLI::IsMember({"small", "paper"}));
  app.add_option("--hidden", m.hidden, "width of node embeddings");
  app.add_option("--blocks", m.blocks, "graph blocks");
  app.add_option("--dropout", m.dropout, "share of values dropped in training");
  app.add_flag("--no-channel-attention", c.no_channel, "ablation");
  app.add_flag("--no-cross-attention", c.no_cross, "ablation: configurations do not see each other");
  app.add_flag("--no-edges", c.no_edges, "ablation: nodes do not see their neighbours");
  app.add_flag("--no-prune", c.no_prune, "ablation: keep nodes far from any configurable one");
}

void add_split_options(CLI::App& app, TrainLayout& c) {
  options::LayoutTrainOptions& g = c.given;
  app.add_option("--split", g.split.by,
                 "what is held out: graphs (whole programs), configs, or the programs of the part test in a FILE");
  app.add_option("--hold-out", g.split.hold_out, "share kept for hone eval layout");
  app.add_option("--split-seed", g.split.seed, "which ones");
  app.add_option("--folds", g.split.folds, "K of K-fold cross-validation over the rest");
  app.add_option("--train-folds", g.train_folds, "how many of them, from the first, are trained");
  app.add_option("--keep", g.keep, "networks in the ensemble: the best by validation");
}

void add_run_options(CLI::App& app, TrainLayout& c) {
  options::LayoutTrainOptions& g = c.given;
  app.add_option("--loss", g.loss, "hinge or listmle");
  app.add_option("--steps", g.steps, "of each fold");
  app.add_option("--configs", g.configs_per_step, "configurations a step; the paper: 64 for default, 128 for random");
  app.add_option("--learning-rate", g.learning_rate, "of AdamW, at its highest");
  app.add_option("--weight-decay", g.weight_decay, "of all but biases");
  app.add_option("--warmup", g.warmup, "share of the steps");
  app.add_option("--clip-norm", g.clip_norm, "of all gradients together; 0 = no clipping");
  app.add_option("--validate-every", g.validate_every, "steps");
  app.add_option("--validation-configs", g.validation_configs, "of each graph, at most");
  app.add_option("--patience", g.patience, "validations without a better one before a fold ends; 0 = never");
  app.add_option("--seed", g.seed, "of weights, batches and dropout");
  app.add_option("--threads", g.threads, "threads of the network");
}

}  // namespace

void declare_train_layout(CLI::App& app, const std::shared_ptr<Runner>& chosen) {
  CLI::App* sub = app.add_subcommand("layout", "rank layout configurations of a program, or tiles of a kernel");
  const auto c = std::make_shared<TrainLayout>();
  c->app = sub;
  sub->add_option("DATA", c->data, "TpuGraphs file of layouts or tiles (.npz), or a folder of them")->required();
  sub->add_option("--out,-o", c->out, "weights to write (safetensors)")->required();
  sub->add_option("--cache", c->cache, "folder for packed copies, which are mapped instead of read");
  sub->add_option("--checkpoint", c->checkpoint, "file to go on from if the run is cut off");
  sub->add_option("--checkpoint-every", c->checkpoint_every, "steps")->check(CLI::PositiveNumber);
  sub->add_flag("--resume", c->resume, "go on from the checkpoint, if it exists");
  sub->add_option("--log-dir", c->log_dir, "folder for TensorBoard events");
  add_network_options(*sub, *c);
  add_split_options(*sub, *c);
  add_run_options(*sub, *c);
  c->output = add_output_options(*sub);
  sub->final_callback([chosen, c] { *chosen = [c] { return run_train_layout(*c); }; });
}

void declare_eval_layout(CLI::App& app, const std::shared_ptr<Runner>& chosen) {
  CLI::App* sub = app.add_subcommand("layout", "how well layout configurations are ranked");
  const auto c = std::make_shared<EvalLayout>();
  sub->add_option("DATA", c->data, "TpuGraphs file of layouts or tiles (.npz), or a folder of them")->required();
  sub->add_option("--weights", c->weights, "of hone train layout; several: models side by side, equal ones as seeds")
      ->required();
  sub->add_option("--part", c->part, "test: what training held out of the same data; all: everything")
      ->check(CLI::IsMember({"test", "all"}));
  sub->add_option("--cache", c->cache, "folder for packed copies, which are mapped instead of read");
  sub->add_option("--augment", c->augment, "permutations of the configurations to average over; the paper: 10")
      ->check(CLI::PositiveNumber);
  sub->add_option("--batch", c->batch, "configurations that see each other")->check(CLI::PositiveNumber);
  sub->add_option("--seed", c->seed, "of the permutations");
  sub->add_option("--threads", c->threads, "threads of the network (default 1)")->check(CLI::PositiveNumber);
  c->output = add_output_options(*sub);
  sub->final_callback([chosen, c] { *chosen = [c] { return run_eval_layout(*c); }; });
}

}  // namespace hone::cli
