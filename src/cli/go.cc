// hone go train|place: policies that plan graphs. The work is done in libhone_learn.so; here are the options.
#include "cli/go.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "cost/learn_library.h"
#include "options/go_options.h"
#include "place/place_program.h"
#include "sim/simulator.h"
#include "sim/task_graph_json.h"

namespace hone::cli {

namespace {

using nlohmann::json;

// A program of XLA's or a task graph as JSON, as the policy needs it.
struct GoSubject {
  sim::TaskGraph graph;
  std::vector<int32_t> xla_fusion;
};

struct GoCommand {
  std::vector<std::string> programs, devices, tasks, also;
  std::string from, out, checkpoint, log_dir, plans, start = "best";
  bool resume = false, no_modulation = false, no_recurrence = false, no_task_residual = false, no_refinement = false,
       no_device_scores = false;
  int64_t checkpoint_every = 50;
  options::GoOptions policy;  // what the options below set
  int64_t iterations = 200, train_samples = 16, epochs = 2;
  double learning_rate = 2e-3, entropy = 3e-3, imitation = 0.5, from_best = 0.5;
  GoPlaceOptions place;
  std::shared_ptr<OutputOptions> output;
  CLI::App* app = nullptr;
};

std::string data_folder(const char* name) {
  namespace fs = std::filesystem;
  for (const fs::path& folder : {executable_dir() / "../data" / name, executable_dir() / "../share/hone" / name})
    if (fs::exists(folder)) return folder.string();
  return std::string("data/") + name;
}

GoSubject open_graph(const std::string& path) {
  GoSubject subject;
  if (path.ends_with(".json")) {
    subject.graph = place::read_task_graph(read_file(path), path);
    return subject;
  }
  ProgramOptions options;
  options.program = path;
  const OpenedProgram opened = open_program(options);
  place::PlacedProgram placed = place::place_program(*opened.session);
  if (placed.program.graph.size() == 0) throw Error("the program has no operations to place", path);
  subject.graph = std::move(placed.program.graph);
  subject.xla_fusion = std::move(placed.xla_fusion);
  return subject;
}

json problem_json(const sim::TaskGraph& graph, const sim::Topology& topology, const sim::Costs& costs,
                  const std::vector<int32_t>& xla_fusion) {
  return {{"name", graph.name},
          {"graph", sim::graph_to_json(graph)},
          {"topology", sim::topology_to_json(topology)},
          {"factor", costs.factor},
          {"default_fusion", xla_fusion}};
}

cost::LearnHost host_of(const OutputOptions& output) {
  return {interrupted, output.quiet ? 0 : output.verbose ? 2 : 1};
}

// Only what was given: the rest are the library's defaults.
json training_json(const GoCommand& c) {
  json training = {{"seed", c.place.seed}, {"threads", c.place.threads}, {"iterations", c.iterations}};
  const auto take = [&](const char* option, const char* name, auto value) {
    if (c.app->count(option) > 0) training[name] = value;
  };
  take("--train-samples", "samples", c.train_samples);
  take("--epochs", "epochs", c.epochs);
  take("--learning-rate", "learning_rate", c.learning_rate);
  take("--entropy", "entropy", c.entropy);
  take("--imitation", "imitation", c.imitation);
  take("--from-best", "from_best", c.from_best);
  return training;
}

options::GoOptions policy_options(const GoCommand& c) {
  options::GoOptions options = c.policy;
  if (!c.tasks.empty()) options.tasks = c.tasks;
  options.modulation = !c.no_modulation;
  options.recurrence = !c.no_recurrence;
  options.task_residual = !c.no_task_residual;
  options.refinement = !c.no_refinement;
  options.device_scores = !c.no_device_scores;
  options.validate();
  return options;
}

std::string seconds_text(const json& seconds) {
  return seconds.is_null() ? "out of mem." : human_ns(seconds.get<double>() * 1e9);
}

void print_training(const json& r) {
  fmt::print("  {:<20} {:>7} {:>12} {:>12} {:>12} {:>12}  {}\n", "graph", "nodes", "start", "before", "after", "best",
             "start found by");
  for (const json& row : r.at("problems"))
    fmt::print("  {:<20} {:>7} {:>12} {:>12} {:>12} {:>12}  {}\n", row.at("name").get<std::string>(),
               row.at("nodes").get<int64_t>(), seconds_text(row.at("start_seconds")),
               seconds_text(row.at("before").at("step_seconds")), seconds_text(row.at("after").at("step_seconds")),
               seconds_text(row.at("best_seconds")), row.at("start").get<std::string>());
  fmt::print("{} iterations in {:.0f} s{}\n", r.at("iterations").get<int64_t>(), r.at("seconds").get<double>(),
             r.at("interrupted").get<bool>() ? ", interrupted" : "");
  if (!r.at("log").get<std::string>().empty()) fmt::print("log: {}\n", r.at("log").get<std::string>());
  if (!r.at("output").get<std::string>().empty()) fmt::print("policy: {}\n", r.at("output").get<std::string>());
}

// One topology for all programs, or one for each.
std::vector<sim::Topology> topologies_of(const GoCommand& c) {
  if (c.devices.size() != 1 && c.devices.size() != c.programs.size())
    throw Error(fmt::format("{} topologies for {} programs", c.devices.size(), c.programs.size()), "--devices",
                "give one, or one for each program");
  std::vector<sim::Topology> list;
  for (const std::string& name : c.devices) list.push_back(sim::load_topology(name, topology_presets()));
  while (list.size() < c.programs.size()) list.push_back(list.front());
  return list;
}

int run_go_train(const GoCommand& c) {
  if (c.resume && c.checkpoint.empty()) throw Error("nothing to resume from", "--resume", "give --checkpoint FILE");
  const std::vector<sim::Topology> topologies = topologies_of(c);
  json request = {{"policy", to_json(policy_options(c))},
                  {"from", c.from},
                  {"training", training_json(c)},
                  {"samples", c.place.samples},
                  {"out", c.out},
                  {"checkpoint", c.checkpoint},
                  {"checkpoint_every", c.checkpoint_every},
                  {"resume", c.resume},
                  {"log_dir", c.log_dir},
                  {"command", command_line()},
                  {"plans", !c.plans.empty()},
                  {"quiet", c.output->quiet}};
  for (size_t i = 0; i < c.programs.size(); ++i) {
    const GoSubject subject = open_graph(c.programs[i]);
    sim::check_memory(subject.graph, topologies[i], c.programs[i]);
    json problem = problem_json(subject.graph, topologies[i], {}, subject.xla_fusion);
    problem["name"] = std::filesystem::path(c.programs[i]).stem().string();
    problem["start"] = c.start;
    request["problems"].push_back(problem);
    if (c.also.empty()) continue;
    problem["name"] = fmt::format("{} ({})", problem["name"].get<std::string>(), fmt::join(c.also, ","));
    problem["tasks"] = c.also;
    request["problems"].push_back(std::move(problem));
  }
  const json response = cost::run_learn_command("go-train", request, host_of(*c.output));
  if (!c.plans.empty()) write_file(c.plans, response.dump(1) + "\n");
  if (c.output->json)
    print(response);
  else
    print_training(response);
  return 0;
}

int run_go_place(const GoCommand& c) {
  const sim::Topology topology = topologies_of(c).front();
  const GoSubject subject = open_graph(c.programs.front());
  sim::check_memory(subject.graph, topology, c.programs.front());
  GoPlaceOptions options = c.place;
  options.tasks = c.tasks;
  options.iterations = c.app->count("--iterations") > 0 ? c.iterations : 0;
  json answer;
  const sim::Plan plan = plan_with_policy(subject.graph, topology, {}, subject.xla_fusion, options, *c.output, &answer);
  answer.erase("finalists");
  if (!c.out.empty()) write_file(c.out, sim::plan_to_json(plan).dump() + "\n");
  answer["program"] = subject.graph.name;
  answer["nodes"] = subject.graph.size();
  answer["output"] = c.out;
  if (c.output->json) {
    print(answer);
    return 0;
  }
  const json& evaluation = answer.at("evaluation");
  fmt::print("{}: {} operations on {}\n", subject.graph.name, subject.graph.size(), topology.name);
  fmt::print("start ({}): {}\npolicy: {} after one evaluation of {:.2f} s\nbest: {} after {} simulations\n",
             answer.at("start").get<std::string>(), seconds_text(answer.at("start_seconds")),
             seconds_text(evaluation.at("step_seconds")), evaluation.at("elapsed_seconds").get<double>(),
             seconds_text(answer.at("seconds")), answer.at("simulations").get<int64_t>());
  return 0;
}

void add_policy_options(CLI::App& app, GoCommand& c) {
  options::GoOptions& p = c.policy;
  app.add_option("--tasks", c.tasks, "what is decided, separated by commas (default: placement,schedule,fusion)")
      ->delimiter(',');
  app.add_option("--max-devices", p.devices, "devices of the largest topology the policy is for (default 8)");
  app.add_option("--hidden", p.hidden, "width of node embeddings (default 48)");
  app.add_option("--heads", p.heads, "of attention (default 4)");
  app.add_option("--sage-layers", p.sage_layers, "layers of the graph network (default 3)");
  app.add_option("--attention-layers", p.attention_layers, "layers all tasks share (default 2)");
  app.add_option("--task-layers", p.task_layers, "layers of a task's head (default 1)");
  app.add_option("--segment", p.segment, "nodes of a segment (default 128)");
  app.add_option("--steps", p.steps, "refinements of one evaluation (default 4)");
  app.add_option("--stay", p.stay, "first probability of what was decided before (default 0.7)");
  app.add_option("--fusion-levels", p.fusion_levels, "priorities of fusion, 0 = never fused (default 8)");
  app.add_option("--schedule-levels", p.schedule_levels, "priorities of scheduling, odd (default 9)");
  app.add_flag("--no-modulation", c.no_modulation, "ablation: layers do not see the pooled graph");
  app.add_flag("--no-recurrence", c.no_recurrence, "ablation: segments do not see the one before");
  app.add_flag("--no-task-residual", c.no_task_residual, "ablation: tasks do not see each other's heads");
  app.add_flag("--no-refinement", c.no_refinement, "ablation: one step that sees nothing decided before");
  app.add_flag("--no-device-scores", c.no_device_scores, "ablation: placement does not see loads and neighbours");
}

void add_training_options(CLI::App& app, GoCommand& c) {
  app.add_option("--iterations", c.iterations, "episodes of all graphs together (train: 200; place: 0)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--train-samples", c.train_samples, "variants simulated in every step of training (default 16)");
  app.add_option("--epochs", c.epochs, "passes over an episode (default 2)");
  app.add_option("--learning-rate", c.learning_rate, "of Adam (default 0.002)");
  app.add_option("--entropy", c.entropy, "coefficient of the entropy bonus (default 0.003)");
  app.add_option("--imitation", c.imitation, "coefficient of imitating the best known plan (default 0.5)");
  app.add_option("--from-best", c.from_best, "share of episodes that begin with the best known plan (default 0.5)");
  app.add_option("--seed", c.place.seed, "of weights and draws");
  app.add_option("--threads", c.place.threads, "of the networks")->check(CLI::Range(1, 1024));
  app.add_option(
         "--samples", c.place.samples,
         "variants simulated in every step of an evaluation; 0: only what the policy itself decides (default 16)")
      ->check(CLI::Range(0, 4096));
}

}  // namespace

std::string topology_presets() { return data_folder("topologies"); }

std::string shipped_go_policy() {
  const std::string path = data_folder("models") + "/go/policy.safetensors";
  if (!std::filesystem::exists(path))
    throw RunError("no graph policy is shipped with this program", path,
                   "hone go train writes one: give it by --policy");
  return path;
}

sim::Plan plan_with_policy(const sim::TaskGraph& graph, const sim::Topology& topology, const sim::Costs& costs,
                           const std::vector<int32_t>& xla_fusion, const GoPlaceOptions& options,
                           const OutputOptions& output, json* answer) {
  json request = {{"problem", problem_json(graph, topology, costs, xla_fusion)},
                  {"policy", options.policy.empty() ? shipped_go_policy() : options.policy},
                  {"online", options.online},
                  {"samples", options.samples},
                  {"seed", options.seed},
                  {"threads", options.threads},
                  {"quiet", output.quiet}};
  if (!options.tasks.empty()) request["problem"]["tasks"] = options.tasks;
  request["finalists"] = options.finalists;
  if (options.iterations > 0)
    request["training"] = {{"iterations", options.iterations}, {"seed", options.seed}, {"threads", options.threads}};
  json response = cost::run_learn_command("go-place", request, host_of(output));
  const sim::Plan plan = sim::plan_from_json(response.at("plan"));
  response.erase("plan");
  if (answer) *answer = std::move(response);
  return plan;
}

Runner declare_go(CLI::App& app) {
  app.require_subcommand(1);
  const auto chosen = std::make_shared<Runner>();
  for (const bool train : {true, false}) {
    CLI::App* sub =
        train ? app.add_subcommand("train", "train a policy on programs in the simulator; with --from go on with one")
              : app.add_subcommand("place", "what a policy decides about one program");
    const auto c = std::make_shared<GoCommand>();
    c->app = sub;
    auto* programs =
        sub->add_option("PROGRAM", c->programs, "programs, or task graphs of hone place --graph (.json)")->required();
    if (!train) programs->expected(1);
    sub->add_option("--devices", c->devices, "a topology file or preset; separated by commas, one for each program")
        ->required()
        ->delimiter(',');
    sub->add_option("--out,-o", c->out, train ? "policy to write (safetensors)" : "plan to write (JSON)");
    add_training_options(*sub, *c);
    if (train) {
      add_policy_options(*sub, *c);
      sub->add_option("--from", c->from, "policy to go on with; then its options hold");
      sub->add_option("--start", c->start,
                      "strategy whose placement is refined; best: the best of the quick ones (default)");
      sub->add_option("--plans", c->plans, "file for the result with the best plan of every graph (JSON)");
      sub->add_option("--checkpoint", c->checkpoint, "file to go on from if the run is cut off");
      sub->add_option("--checkpoint-every", c->checkpoint_every, "iterations (default 50)")->check(CLI::PositiveNumber);
      sub->add_flag("--resume", c->resume, "go on from the checkpoint, if it exists");
      sub->add_option("--log-dir", c->log_dir, "folder for TensorBoard events");
      sub->add_option("--also", c->also, "train on every program a second time, deciding only these tasks")
          ->delimiter(',');
    } else {
      sub->add_option("--tasks", c->tasks, "what is decided, of the policy's tasks (default: all)")->delimiter(',');
      sub->add_option("--policy", c->place.policy, "the policy (default: the shipped one)");
      sub->add_option("--online", c->place.online,
                      "policy that goes on learning while it is used and remembers the best plans; made on first use");
    }
    c->output = add_output_options(*sub);
    sub->final_callback(
        [chosen, c, train] { *chosen = [c, train] { return train ? run_go_train(*c) : run_go_place(*c); }; });
  }
  declare_go_fuse(app, chosen);
  return [chosen] { return (*chosen)(); };
}

}  // namespace hone::cli
