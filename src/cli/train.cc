// hone train tile|fusion: the work is done in libhone_learn.so; here are the options, and the processes of a
// data-parallel run.
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "cli/cli.h"
#include "cli/layout_model.h"
#include "cost/learn_library.h"
#include "options/train_options.h"

namespace hone::cli {

namespace {

struct TrainCommand {
  std::string task, dataset, split, model = "sage+lstm", preset = "small", out, checkpoint, log_dir, tile_join,
                                    static_join;
  bool resume = false, undirected = false, l2_norm = false, demand = false;
  int64_t checkpoint_every = 1000;
  options::TrainOptions given;  // what the options below set
  std::shared_ptr<OutputOptions> output;
  CLI::App* app = nullptr;
};

// How this process was called.
std::vector<std::string> command_words() {
  const std::string text = read_file("/proc/self/cmdline");  // every word ends with a zero
  std::vector<std::string> words;
  for (size_t first = 0; first < text.size(); first = text.find('\0', first) + 1)
    words.emplace_back(text.c_str() + first);
  return words;
}

// The preset's values, replaced by those given on the command line.
options::TrainOptions settled(const TrainCommand& c) {
  options::TrainOptions o = options::paper_options(c.task, c.model);
  if (c.preset == "small") o.model.hidden = 128;
  const options::TrainOptions& g = c.given;
  const auto take = [&](const char* option, auto& into, const auto& value) {
    if (c.app->count(option) > 0) into = value;
  };
  take("--loss", o.loss, g.loss);
  take("--steps", o.steps, g.steps);
  take("--seed", o.seed, g.seed);
  take("--learning-rate", o.learning_rate, g.learning_rate);
  take("--decay", o.decay, g.decay);
  take("--decay-steps", o.decay_steps, g.decay_steps);
  take("--clip-norm", o.clip_norm, g.clip_norm);
  take("--kernels-per-step", o.kernels_per_step, g.kernels_per_step);
  take("--options-per-kernel", o.options_per_kernel, g.options_per_kernel);
  take("--balance", o.balance, g.balance);
  take("--validate-every", o.validate_every, g.validate_every);
  take("--patience", o.patience, g.patience);
  take("--validation-kernels", o.validation_kernels, g.validation_kernels);
  take("--validation-options", o.validation_options, g.validation_options);
  take("--threads", o.threads, g.threads);
  take("--processes", o.processes, g.processes);
  take("--rank", o.rank, g.rank);
  take("--rendezvous", o.rendezvous, g.rendezvous);
  take("--hidden", o.model.hidden, g.model.hidden);
  take("--opcode-embedding", o.model.opcode_embedding, g.model.opcode_embedding);
  take("--gnn-layers", o.model.gnn_layers, g.model.gnn_layers);
  take("--dropout", o.model.dropout, g.model.dropout);
  if (!c.tile_join.empty()) o.model.tile_join = options::join_from_name(c.tile_join);
  if (!c.static_join.empty()) o.model.static_join = options::join_from_name(c.static_join);
  if (c.undirected) o.model.directed = false;
  if (c.l2_norm) o.model.l2_norm = true;
  if (c.demand) o.model.demand = true;
  return o;
}

// The other processes of a data-parallel run: this program again with another rank. Ended when the run ends.
class Ranks {
 public:
  Ranks(int64_t processes, const std::string& rendezvous) {
    const std::vector<std::string> words = command_words();
    for (int64_t rank = 1; rank < processes; ++rank) {
      std::vector<std::string> all = words;
      all.insert(all.end(), {"--rank", std::to_string(rank), "--rendezvous", rendezvous, "--quiet"});
      std::vector<char*> argv;
      for (std::string& word : all) argv.push_back(word.data());
      argv.push_back(nullptr);
      pid_t pid = 0;
      if (posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv.data(), environ) != 0)
        throw RunError("cannot start another process", "--processes");
      pids_.push_back(pid);
    }
  }
  ~Ranks() {
    for (pid_t pid : pids_) {
      kill(pid, SIGKILL);  // those that are done already are only waiting to be collected
      waitpid(pid, nullptr, 0);
    }
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

 private:
  std::vector<pid_t> pids_;
};

void print_result(const nlohmann::json& r, const std::string& task) {
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
  std::unique_ptr<Ranks> ranks;
  if (options.processes > 1 && options.rank == 0 && options.rendezvous.empty()) {
    meeting = std::make_unique<TempDir>("hone-train");
    options.rendezvous = (meeting->path() / "store").string();
    ranks = std::make_unique<Ranks>(options.processes, options.rendezvous);
  }
  options.settle();
  const nlohmann::json request = {
      {"dataset", c.dataset},        {"split", c.split},           {"out", c.out},
      {"options", to_json(options)}, {"checkpoint", c.checkpoint}, {"checkpoint_every", c.checkpoint_every},
      {"resume", c.resume},          {"log_dir", c.log_dir},       {"command", command_line()},
      {"quiet", c.output->quiet}};
  // Only the first process asks for Ctrl-C: if another one left on its own, the first would miss its gradients.
  const auto never = +[] { return false; };
  const cost::LearnHost host{options.rank == 0 ? interrupted : never, c.output->quiet ? 0 : c.output->verbose ? 2 : 1};
  const nlohmann::json response = cost::run_learn_command("train", request, host);
  if (options.rank != 0) return 0;
  if (c.output->json)
    print(response);
  else
    print_result(response, c.task);
  return 0;
}

void add_model_options(CLI::App& app, TrainCommand& c) {
  options::ModelOptions& m = c.given.model;
  app.add_option("--model", c.model, "none|sage|gat + per-node|column-wise|lstm|transformer, or fast");
  app.add_option("--preset", c.preset, "small: 128 wide; paper: the width the paper tuned, for a GPU")
      ->check(CLI::IsMember({"small", "paper"}));
  app.add_option("--hidden", m.hidden, "width of node embeddings");
  app.add_option("--opcode-embedding", m.opcode_embedding, "width of opcode embeddings");
  app.add_option("--gnn-layers", m.gnn_layers, "layers of the graph network");
  app.add_option("--dropout", m.dropout, "share of values dropped in training");
  app.add_option("--tile", c.tile_join, "where option features enter: node, kernel or none");
  app.add_option("--static", c.static_join, "where static performance features enter: node, kernel or none");
  app.add_flag("--undirected", c.undirected, "the same weights for producers and users");
  app.add_flag(
      "--demand", c.demand,
      "options also bring what the analytical model counts for them: bytes per cache, operations, an estimate");
  app.add_flag("--l2-norm", c.l2_norm, "normalise node embeddings after every graph layer");
}

void add_run_options(CLI::App& app, TrainCommand& c) {
  options::TrainOptions& g = c.given;
  app.add_option(
      "--loss", g.loss,
      "rank-hinge, rank-logistic, rank-weighted (hinge, pairs count by their ratio), ratio (of run times) or mse");
  app.add_option("--steps", g.steps, "at most");
  app.add_option("--seed", g.seed, "of weights, batches and dropout");
  app.add_option("--learning-rate", g.learning_rate, "of Adam");
  app.add_option("--decay", g.decay, "factor of the learning rate every --decay-steps");
  app.add_option("--decay-steps", g.decay_steps, "steps");
  app.add_option("--clip-norm", g.clip_norm, "of all gradients together; 0 = no clipping");
  app.add_option("--kernels-per-step", g.kernels_per_step, "kernels in a batch");
  app.add_option("--options-per-kernel", g.options_per_kernel, "options of each, at most");
  app.add_option("--balance", g.balance, "draw evenly from each program, family or kernel");
  app.add_option("--validate-every", g.validate_every, "steps");
  app.add_option("--patience", g.patience, "validations without a better one before training ends; 0 = never");
  app.add_option("--validation-kernels", g.validation_kernels, "at most");
  app.add_option("--validation-options", g.validation_options, "of each kernel, at most");
  app.add_option("--threads", g.threads, "of one process");
  app.add_option("--processes", g.processes, "on this machine, gradients averaged over them");
  app.add_option("--rank", g.rank)->group("");  // of a process started by another
  app.add_option("--rendezvous", g.rendezvous)->group("");
}

}  // namespace

std::string command_line() {
  std::string text = "hone";  // the way here is nobody's business
  const std::vector<std::string> words = command_words();
  for (size_t i = 1; i < words.size(); ++i) text += " " + words[i];
  return text;
}

Runner declare_train(CLI::App& app) {
  app.require_subcommand(1);
  const auto chosen = std::make_shared<Runner>();
  const std::pair<const char*, const char*> tasks[] = {{"tile", "rank the options of a kernel"},
                                                       {"fusion", "predict run times of kernels"}};
  for (const auto& [task, summary] : tasks) {
    CLI::App* sub = app.add_subcommand(task, summary);
    const auto c = std::make_shared<TrainCommand>();
    c->task = task;
    c->app = sub;
    sub->add_option("DATASET", c->dataset, "folder of shards")->required();
    sub->add_option("--split", c->split, "file that says which program is for what")->required();
    sub->add_option("--out,-o", c->out, "weights to write (safetensors)")->required();
    sub->add_option("--checkpoint", c->checkpoint, "file to go on from if the run is cut off");
    sub->add_option("--checkpoint-every", c->checkpoint_every, "steps")->check(CLI::PositiveNumber);
    sub->add_flag("--resume", c->resume, "go on from the checkpoint, if it exists");
    sub->add_option("--log-dir", c->log_dir, "folder for TensorBoard events");
    add_model_options(*sub, *c);
    add_run_options(*sub, *c);
    c->output = add_output_options(*sub);
    sub->final_callback([chosen, c] { *chosen = [c] { return run_train(*c); }; });
  }
  declare_train_layout(app, chosen);
  return [chosen] { return (*chosen)(); };
}

}  // namespace hone::cli
