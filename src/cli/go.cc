// hone go train|place: policies that plan graphs. Training is done in libhone_learn.so.
#include "cli/go.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/command_tree.h"
#include "cli/struct_options.h"
#include "cost/shipped.h"
#include "go/go_place.h"
#include "options/go_options.h"
#include "place/place_program.h"
#include "sim/simulator.h"
#include "sim/task_graph_json.h"

namespace hone::cli {

namespace {

using nlohmann::json;

// The policy's input: an XLA program or a task graph in JSON.
struct GoSubject {
  sim::TaskGraph graph;
  std::vector<int32_t> xla_fusion;
};

struct GoCommand {
  std::vector<std::string> programs, devices, tasks, also;
  std::string from, out, checkpoint, log_dir, plans, start = "best";
  bool resume = false;
  int64_t checkpoint_every = 50;
  StructOptions<options::GoOptions> network;
  StructOptions<options::GoTrainOptions> training;
  GoPlaceOptions place;
  std::shared_ptr<OutputOptions> output;
};

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

// The options that training and placing share are included.
options::GoTrainOptions training_options(const GoCommand& c, int64_t iterations) {
  options::GoTrainOptions options;
  options.iterations = iterations;
  c.training.put_into(options);
  options.validate();
  return options;
}

options::GoOptions policy_options(const GoCommand& c) {
  options::GoOptions options;
  c.network.put_into(options);
  options.validate();
  return options;
}

std::string seconds_text(const json& seconds) {
  return seconds.is_null() ? "out of mem." : human_ns(seconds.get<double>() * 1e9);
}

void print_go_training(const json& r) {
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
  for (const std::string& name : c.devices) list.push_back(load_devices(name));
  while (list.size() < c.programs.size()) list.push_back(list.front());
  return list;
}

int run_go_train(const GoCommand& c) {
  if (c.resume && c.checkpoint.empty()) throw Error("nothing to resume from", "--resume", "give --checkpoint FILE");
  const std::vector<sim::Topology> topologies = topologies_of(c);
  json request = {{"policy", to_json(policy_options(c))},
                  {"from", c.from},
                  {"training", to_json(training_options(c, options::GoTrainOptions().iterations))},
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
    problem["parameters"] = c.place.parameters;
    request["problems"].push_back(problem);
    if (c.also.empty()) continue;
    problem["name"] = fmt::format("{} ({})", problem["name"].get<std::string>(), fmt::join(c.also, ","));
    problem["tasks"] = c.also;
    request["problems"].push_back(std::move(problem));
  }
  const json response = cost::run_learn_command("go-train", request, learn_host(*c.output));
  if (!c.plans.empty()) write_file(c.plans, response.dump(1) + "\n");
  if (c.output->json)
    print(response);
  else
    print_go_training(response);
  return 0;
}

int run_go_place(const GoCommand& c) {
  const sim::Topology topology = topologies_of(c).front();
  const GoSubject subject = open_graph(c.programs.front());
  sim::check_memory(subject.graph, topology, c.programs.front());
  GoPlaceOptions options = c.place;
  options.tasks = c.tasks;
  options.training = training_options(c, 0);
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

const std::vector<std::string> kTasks = {"placement", "schedule", "fusion"};

void add_subject_options(CLI::App& app, GoCommand& c, bool train) {
  auto* programs = app.add_option("PROGRAM", c.programs, "programs, or task graphs of hone place --graph (.json)");
  programs->required()->type_name("");
  if (!train) programs->expected(1);
  const std::string presets = fmt::format("{}", fmt::join(device_presets(), ", "));
  offer(app.add_option("--devices", c.devices,
                       "topology: a file (TOML) or one of " + presets +
                           (train ? "; or several, separated by commas, one for each program" : "")),
        device_presets())
      ->required()
      ->delimiter(',')
      ->type_name("LIST");
  app.add_option("--parameters", c.place.parameters,
                 "where parameters are when a step begins, as in hone place: home or copied (default copied, which the "
                 "shipped policy was trained with)")
      ->check(one_of({"home", "copied"}));
}

void add_training_options(CLI::App& app, GoCommand& c, bool train) {
  begin_group(app, "Training");
  options::GoTrainOptions defaults;
  if (!train) defaults.iterations = 0;
  c.training.add_to(app, defaults);
  app.add_option("--samples", c.place.samples,
                 "variants simulated in every step of an evaluation, 0 to 4096; 0: only the policy's own decisions "
                 "(default 16)")
      ->check(within(0, 4096));
}

void add_go_train_options(CLI::App& app, GoCommand& c) {
  app.add_option("--from", c.from, "policy to continue from, with its network options")->type_name("FILE");
  app.add_option("--start", c.start,
                 "placement strategy whose result is refined, or best: the best of the quick ones (default best)");
  app.add_option("--also", c.also,
                 "tasks, separated by commas: train on every program a second time, deciding only these")
      ->delimiter(',')
      ->check(one_of(kTasks))
      ->type_name("LIST");
  begin_group(app, "Network");
  c.network.add_to(app);
  add_training_options(app, c, true);
  begin_group(app, "Output");
  app.add_option(kOutput, c.out, "file for the policy (safetensors)")->type_name("FILE");
  app.add_option("--plans", c.plans, "file for the result with the best plan of every graph (JSON)")->type_name("FILE");
  app.add_option("--checkpoint", c.checkpoint, "file of checkpoints, to continue from after an interruption")
      ->type_name("FILE");
  app.add_option("--checkpoint-every", c.checkpoint_every, "iterations between checkpoints (default 50)")
      ->check(above_zero());
  app.add_flag("--resume", c.resume, "continue from the checkpoint, if it exists");
  app.add_option("--log-dir", c.log_dir, "folder for TensorBoard events")->type_name("FOLDER");
}

void add_go_place_options(CLI::App& app, GoCommand& c) {
  app.add_option("--tasks", c.tasks, "tasks that are decided, of the policy's, separated by commas (default: all)")
      ->delimiter(',')
      ->check(one_of(kTasks))
      ->type_name("LIST");
  app.add_option(kPolicyFile, c.place.policy, "policy of hone go train (default: the one that comes with hone)")
      ->type_name("FILE");
  app.add_option(
         "--online", c.place.online,
         "file of a policy that continues to learn while it is used and remembers the best plans; created on first use")
      ->type_name("FILE");
  add_models_option(app, c.place.models);
  add_training_options(app, c, false);
  begin_group(app, "Output");
  app.add_option(kOutput, c.out, "file for the plan (JSON)")->type_name("FILE");
}

}  // namespace

sim::Topology load_devices(const std::string& name) {
  return sim::load_topology(name, cost::shipped_folder("topologies"));
}

std::vector<std::string> device_presets() {
  std::set<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(cost::shipped_folder("topologies"), none))
    if (entry.path().extension() == ".toml") names.insert(entry.path().stem().string());
  return {names.begin(), names.end()};
}

std::string shipped_go_policy(const std::string& models) {
  const std::string path = cost::shipped_model("go/policy.safetensors", models);
  if (path.empty())
    throw RunError("no graph policy is shipped with this program", "--policy-file", "hone go train writes one");
  return path;
}

sim::Plan plan_with_policy(const sim::TaskGraph& graph, const sim::Topology& topology, const sim::Costs& costs,
                           const std::vector<int32_t>& xla_fusion, const GoPlaceOptions& options,
                           const OutputOptions& output, json* answer) {
  json request = {{"problem", problem_json(graph, topology, costs, xla_fusion)},
                  {"policy", options.policy.empty() ? shipped_go_policy(options.models) : options.policy},
                  {"online", options.online},
                  {"samples", options.samples},
                  {"seed", options.training.seed},
                  {"threads", options.training.threads},
                  {"quiet", output.quiet}};
  if (!options.tasks.empty()) request["problem"]["tasks"] = options.tasks;
  request["finalists"] = options.finalists;
  request["problem"]["parameters"] = options.parameters;
  if (options.training.iterations > 0) request["training"] = to_json(options.training);
  json response = options.training.iterations > 0 ? cost::run_learn_command("go-place", request, learn_host(output))
                                                  : go::place_by_policy(request);
  const sim::Plan plan = sim::plan_from_json(response.at("plan"));
  response.erase("plan");
  if (answer) *answer = std::move(response);
  return plan;
}

Runner declare_go(CLI::App& app) {
  app.require_subcommand(1);
  const auto chosen = std::make_shared<Runner>();
  for (const bool train : {true, false}) {
    CLI::App* sub = train ? app.add_subcommand(
                                "train", "train a policy on programs in the simulator, or continue from one (--from)")
                          : app.add_subcommand("place", "plan one program by a policy");
    const auto c = std::make_shared<GoCommand>();
    add_subject_options(*sub, *c, train);
    train ? add_go_train_options(*sub, *c) : add_go_place_options(*sub, *c);
    c->output = add_output_options(*sub);
    sub->final_callback(
        [chosen, c, train] { *chosen = [c, train] { return train ? run_go_train(*c) : run_go_place(*c); }; });
  }
  declare_go_fuse(app, chosen);
  return [chosen] { return (*chosen)(); };
}

}  // namespace hone::cli
