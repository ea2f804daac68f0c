#include "cli/layout_model.h"

#include <fmt/core.h>

#include "base/error.h"
#include "cli/struct_options.h"
#include "data/dataset.h"
#include "options/layout_train_options.h"

namespace hone::cli {

namespace {

using nlohmann::json;

struct TrainLayout {
  std::string data, cache, out, model = "tgraph", preset = "small", checkpoint, log_dir;
  int64_t checkpoint_every = 500;
  bool resume = false;
  StructOptions<options::LayoutTrainOptions> run;
  StructOptions<options::LayoutModelOptions> network;
  StructOptions<options::LayoutSplit> split;
  std::shared_ptr<OutputOptions> output;
};

struct EvalLayout {
  std::string data, cache, part = "test";
  std::vector<std::string> weights;
  int64_t augment = 1, batch = 128;
  uint64_t seed = 0;
  int threads = 1;
  std::shared_ptr<OutputOptions> output;
};

// The model's defaults, replaced by values from the command line.
options::LayoutTrainOptions settled_layout(const TrainLayout& c) {
  options::LayoutTrainOptions o = options::layout_defaults(c.model, c.preset == "small");
  const std::string own_split = o.split.by;
  c.run.put_into(o);
  c.network.put_into(o.model);
  c.split.put_into(o.split);
  if (const std::string file = o.split.by; file != "graphs" && file != "configs") {
    o.split.by = own_split;
    o.split.test = Split::read(file).test;
    if (o.split.test.empty()) throw Error("no program is in the part test", file);
  }
  return o;
}

void print_layout_training(const json& r) {
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
  const options::LayoutTrainOptions options = settled_layout(c);
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
  const json response = cost::run_learn_command("train layout", request, learn_host(*c.output));
  if (c.output->json)
    print(response);
  else
    print_layout_training(response);
  return 0;
}

void print_layout_block(const json& r, const std::string& title, const char* metric, double scale, const char* format) {
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
  const json r = cost::run_learn_command("eval layout", request, learn_host(*c.output));
  if (c.output->json) {
    print(r);
    return 0;
  }
  const std::string held = r.at("held_out");
  fmt::print("{}\n\n", held == "configs"  ? "held-out configurations of programs that were trained on"
                       : held == "graphs" ? "held-out programs"
                                          : "all configurations of the data");
  print_layout_block(r, "Kendall's tau", "kendall_tau", 1, "{:.3f}");
  print_layout_block(r, "\nordered pairs, %", "pair_accuracy", 100, "{:.1f}");
  print_layout_block(r, "\nslowdown of the top 1, %", "slowdown_top1", 100, "{:.2f}");
  print_layout_block(r, "\nslowdown of the top 10, %", "slowdown_top10", 100, "{:.2f}");
  print_layout_block(r, "\nslowdown of the top 100, %", "slowdown_top100", 100, "{:.2f}");
  print_layout_block(r, "\n2 - best of the top 5 / best", "tile_score", 1, "{:.4f}");
  return 0;
}

}  // namespace

void declare_train_layout(CLI::App& app, const std::shared_ptr<Runner>& chosen) {
  CLI::App* sub = app.add_subcommand("layout", "train a model that ranks layouts of a program, or tiles of a kernel");
  const auto c = std::make_shared<TrainLayout>();
  sub->add_option("DATA", c->data, "TpuGraphs file of layouts or tiles (.npz), or a folder of them")
      ->required()
      ->type_name("");
  sub->add_option(kOutput, c->out, "file for the weights (safetensors)")->required()->type_name("FILE");
  sub->add_option("--cache", c->cache, "folder for packed copies of the data, which are mapped instead of read")
      ->type_name("FOLDER");
  sub->add_option("--checkpoint", c->checkpoint, "file of checkpoints, to continue from after an interruption")
      ->type_name("FILE");
  sub->add_option("--checkpoint-every", c->checkpoint_every, "steps between checkpoints (default 500)")
      ->check(above_zero());
  sub->add_flag("--resume", c->resume, "continue from the checkpoint, if it exists");
  sub->add_option("--log-dir", c->log_dir, "folder for TensorBoard events")->type_name("FOLDER");
  begin_group(*sub, "Network");
  sub->add_option(
         "--model", c->model,
         "kind of model: tgraph (the paper's equations), tgraph-code (as its authors published it), sage, linear, or "
         "frequent (no network: the most frequent layout) (default tgraph)")
      ->check(one_of({"tgraph", "tgraph-code", "sage", "linear", "frequent"}));
  sub->add_option("--preset", c->preset, "width of the network: small (64) or paper (256, for a GPU) (default small)")
      ->check(one_of({"small", "paper"}));
  c->network.add_to(*sub);
  begin_group(*sub, "Split");
  c->split.add_to(*sub);
  begin_group(*sub, "Training");
  c->run.add_to(*sub);
  begin_group(*sub, "Output");
  c->output = add_output_options(*sub);
  sub->final_callback([chosen, c] { *chosen = [c] { return run_train_layout(*c); }; });
}

void declare_eval_layout(CLI::App& app, const std::shared_ptr<Runner>& chosen) {
  CLI::App* sub = app.add_subcommand("layout", "evaluate how well models rank layouts");
  const auto c = std::make_shared<EvalLayout>();
  sub->add_option("DATA", c->data, "TpuGraphs file of layouts or tiles (.npz), or a folder of them")
      ->required()
      ->type_name("");
  sub->add_option(kModelFile, c->weights,
                  "weights of hone train layout; if given several times, models are compared, and weights of the same "
                  "model count as seeds")
      ->required()
      ->type_name("FILE");
  sub->add_option("--part", c->part,
                  "part of the data: test (held out of the same data in training) or all (default test)")
      ->check(one_of({"test", "all"}));
  sub->add_option("--cache", c->cache, "folder for packed copies of the data, which are mapped instead of read")
      ->type_name("FOLDER");
  sub->add_option("--augment", c->augment,
                  "permutations of the configurations that are averaged; the paper: 10 (default 1)")
      ->check(above_zero());
  sub->add_option("--batch", c->batch, "configurations of a batch, which attend to each other (default 128)")
      ->check(above_zero());
  sub->add_option("--seed", c->seed, "seed for the permutations (default 0)");
  sub->add_option("--threads", c->threads, "threads of the network (default 1)")->check(above_zero());
  c->output = add_output_options(*sub);
  sub->final_callback([chosen, c] { *chosen = [c] { return run_eval_layout(*c); }; });
}

}  // namespace hone::cli
