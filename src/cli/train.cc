// hone train tile|fusion, which runs in libhone_learn.so.
#include <fmt/core.h>

#include "base/error.h"
#include "base/files.h"
#include "base/processes.h"
#include "cli/cli.h"
#include "cli/layout_model.h"
#include "cli/struct_options.h"
#include "options/train_options.h"

namespace hone::cli {

namespace {

struct TrainCommand {
  std::string task, dataset, split, model = "sage+lstm", preset = "small", out, checkpoint, log_dir;
  bool resume = false;
  int64_t checkpoint_every = 1000;
  StructOptions<options::TrainOptions> run;
  StructOptions<options::ModelOptions> network;
  std::shared_ptr<OutputOptions> output;
};

// The preset's values, replaced by those given on the command line.
options::TrainOptions settled(const TrainCommand& c) {
  options::TrainOptions o = options::paper_options(c.task, c.model);
  if (c.preset == "small") o.model.hidden = 128;
  c.run.put_into(o);
  c.network.put_into(o.model);
  return o;
}

void print_trained_model(const nlohmann::json& r, const std::string& task) {
  const nlohmann::json &mean = r.at("validation").at("mean"), &rows = r.at("validation").at("programs");
  fmt::print("{} on {} kernels, {} steps in {:.0f} s ({:.0f} samples/s){}{}\n", r.at("model").get<std::string>(),
             r.at("kernels").at("train").get<int64_t>(), r.at("steps").get<int64_t>(), r.at("seconds").get<double>(),
             r.at("samples_per_second").get<double>(), r.at("stopped_early").get<bool>() ? ", stopped early" : "",
             r.at("interrupted").get<bool>() ? ", interrupted" : "");
  if (task == "tile")
    fmt::print("validation, {} programs, best at step {}: APE {:.2f} %, of the top 10 {:.2f} %, tau {:.3f}\n",
               rows.size(), r.at("best_step").get<int64_t>(), mean.at("ape_top1").get<double>(),
               mean.at("ape_top10").get<double>(), mean.at("kendall_tau").get<double>());
  else
    fmt::print("validation, {} programs, best at step {}: MAPE {:.2f} %, tau {:.3f}\n", rows.size(),
               r.at("best_step").get<int64_t>(), mean.at("mape").get<double>(), mean.at("kendall_tau").get<double>());
  if (r.at("corrupt_shards").get<int>() > 0)
    fmt::print("{} damaged shards skipped\n", r.at("corrupt_shards").get<int>());
  fmt::print("weights: {}\n", r.at("output").get<std::string>());
}

int run_train(const TrainCommand& c) {
  options::TrainOptions options = settled(c);
  if (c.resume && c.checkpoint.empty()) throw Error("nothing to resume from", "--resume", "give --checkpoint FILE");
  std::unique_ptr<TempDir> meeting;
  OwnCopies others;  // the other ranks of a data-parallel run; they end with the run
  if (options.processes > 1 && options.rank == 0 && options.rendezvous.empty()) {
    meeting = std::make_unique<TempDir>("hone-train");
    options.rendezvous = (meeting->path() / "store").string();
    for (int64_t rank = 1; rank < options.processes; ++rank)
      others.start({"--rank", std::to_string(rank), "--rendezvous", options.rendezvous, "--quiet"});
  }
  options.settle();
  const nlohmann::json request = {
      {"dataset", c.dataset},        {"split", c.split},           {"out", c.out},
      {"options", to_json(options)}, {"checkpoint", c.checkpoint}, {"checkpoint_every", c.checkpoint_every},
      {"resume", c.resume},          {"log_dir", c.log_dir},       {"command", command_line()},
      {"quiet", c.output->quiet}};
  // Only the first process handles Ctrl-C: if another one ended by itself, the first would wait for its gradients.
  const auto never = +[] { return false; };
  cost::LearnHost host = learn_host(*c.output);
  if (options.rank != 0) host.interrupted = never;
  const nlohmann::json response = cost::run_learn_command("train", request, host);
  if (options.rank != 0) return 0;
  if (c.output->json)
    print(response);
  else
    print_trained_model(response, c.task);
  return 0;
}

void add_train_options(CLI::App& app, TrainCommand& c) {
  app.add_option("DATASET", c.dataset, "folder of the data set's shards")->required()->type_name("");
  app.add_option("--split", c.split, "file that assigns programs to training, validation and test")
      ->required()
      ->type_name("FILE");
  app.add_option(kOutput, c.out, "file for the weights (safetensors)")->required()->type_name("FILE");
  app.add_option("--checkpoint", c.checkpoint, "file of checkpoints, to continue from after an interruption")
      ->type_name("FILE");
  app.add_option("--checkpoint-every", c.checkpoint_every, "steps between checkpoints (default 1000)")
      ->check(above_zero());
  app.add_flag("--resume", c.resume, "continue from the checkpoint, if it exists");
  app.add_option("--log-dir", c.log_dir, "folder for TensorBoard events")->type_name("FOLDER");
  begin_group(app, "Network");
  app.add_option(
      "--model", c.model,
      "kind of network: none, sage, gat or gin + per-node, column-wise, lstm or transformer, as sage+lstm, or "
      "late-fusion (default sage+lstm)");
  app.add_option("--preset", c.preset,
                 "width of the network: small (128) or paper (the paper's values) (default small)")
      ->check(one_of({"small", "paper"}));
  c.network.add_to(app);
  begin_group(app, "Training");
  c.run.add_to(app);
  begin_group(app, "Output");
  c.output = add_output_options(app);
}

}  // namespace

Runner declare_train(CLI::App& app) {
  app.require_subcommand(1);
  const auto chosen = std::make_shared<Runner>();
  const std::pair<const char*, const char*> tasks[] = {{"tile", "train a model that ranks the options of a kernel"},
                                                       {"fusion", "train a model that predicts run times of kernels"}};
  for (const auto& [task, summary] : tasks) {
    CLI::App* sub = app.add_subcommand(task, summary);
    const auto c = std::make_shared<TrainCommand>();
    c->task = task;
    add_train_options(*sub, *c);
    sub->final_callback([chosen, c] { *chosen = [c] { return run_train(*c); }; });
  }
  declare_train_layout(app, chosen);
  return [chosen] { return (*chosen)(); };
}

}  // namespace hone::cli
