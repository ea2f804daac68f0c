// hone place PROGRAM: a strategy decides the device, the order and the fusion of a program's operations, and is
// compared with the baselines in the simulator; with --measure the fusion plans also run on this CPU.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/command_tree.h"
#include "cli/go.h"
#include "cli/place_costs.h"
#include "place/place_program.h"
#include "place/place_trace.h"
#include "sim/strategies.h"
#include "sim/task_graph_json.h"

namespace hone::cli {

namespace {

using nlohmann::json;

constexpr char kPolicy[] = "go";  // the strategy that is a learned policy

struct PlaceCommand {
  std::shared_ptr<OutputOptions> output;
  std::shared_ptr<ProgramOptions> program;
  std::string devices, tasks = "placement", strategy = "anneal", costs = "roofline", weights, policy, models;
  std::string from, out, hlo, trace, graph;
  int64_t steps = 10000;
  int randoms = 1;
  bool measure = false;
};

// The subject of placement: an XLA program, or a task graph in JSON, which has no session.
struct Subject {
  std::unique_ptr<OpenedProgram> opened;
  place::PlacedProgram placed;
  const sim::TaskGraph& graph() const { return placed.program.graph; }
};

// One line of the table.
struct Row {
  std::string name;
  sim::Plan plan;
  sim::StepReport report;
  tune::Measurement measured;
};

// An improvement found by a search.
struct Gain {
  int64_t step = 0;                              // simulations so far
  double elapsed_s = 0, cpu_s = 0, seconds = 0;  // wall and CPU time since the search began; the plan's step time
};

Subject open_subject(const PlaceCommand& command) {
  Subject subject;
  const std::string& path = command.program->program;
  if (path.ends_with(".json")) {
    subject.placed.program.graph = place::read_task_graph(read_file(path), path);
    return subject;
  }
  subject.opened = std::make_unique<OpenedProgram>(open_program(*command.program));
  subject.placed = place::place_program(*subject.opened->session);
  if (subject.graph().size() == 0) throw Error("the program has no operations to place", path);
  return subject;
}

bool decides_any(const sim::Tasks& row, const sim::Tasks& asked) {
  return (row.placement && asked.placement) || (row.fusion && asked.fusion) || (row.schedule && asked.schedule);
}

bool better(const Row& a, const Row& b) {
  if (a.report.valid != b.report.valid) return a.report.valid;
  return a.report.step_seconds < b.report.step_seconds;
}

class Placing {
 public:
  Placing(const PlaceCommand& command, const Subject& subject, const sim::Costs& costs, sim::Simulator& simulator)
      : command_(command), subject_(subject), costs_(costs), simulator_(simulator) {
    options_.tasks = sim::parse_tasks(command.tasks);
    options_.seed = command.program->seed.value_or(0);
    options_.steps = command.steps;
    options_.base.fusion = subject.placed.xla_fusion;
    options_.default_fusion = subject.placed.xla_fusion;
    options_.stop = [] { return interrupted(); };
  }

  // The defaults first, then the baselines, and last the chosen strategy.
  std::vector<Row> run() {
    add("default", options_.base);
    for (const sim::StrategyRow& row : sim::strategies()) {
      if (row.searches || row.name == command_.strategy || !decides_any(row.decides, options_.tasks)) continue;
      const bool is_random = row.plan == sim::strategy("random").plan;
      for (int i = 0; i < (is_random ? command_.randoms : 1); ++i) {
        sim::StrategyOptions options = options_;
        options.seed += i;
        add(is_random && command_.randoms > 1 ? fmt::format("{}-{}", row.name, i) : row.name,
            row.plan(simulator_, options));
      }
    }
    if (!command_.from.empty()) add("given", given());
    add(command_.strategy, chosen());
    return std::move(rows_);
  }
  const std::vector<Gain>& gains() const { return gains_; }  // of the chosen strategy, if it searches

 private:
  sim::Plan chosen() {
    if (command_.strategy == kPolicy) return by_policy();
    const sim::StrategyRow& row = sim::strategy(command_.strategy);
    if (!row.searches) return row.plan(simulator_, options_);
    // A search begins with the best baseline's plan, so that it never returns a worse one.
    options_.base = std::min_element(rows_.begin(), rows_.end(), better)->plan;
    ProgressOptions shown;
    shown.quiet = command_.output->quiet;
    shown.total = static_cast<double>(options_.steps);
    Progress progress("annealing", shown);
    const double begin_s = steady_s(), begin_cpu_s = cpu_s();
    options_.progress = [&, known = std::numeric_limits<double>::infinity()](int64_t step, double best) mutable {
      if (best < known) gains_.push_back({step, steady_s() - begin_s, cpu_s() - begin_cpu_s, best});
      known = std::min(known, best);
      progress.update(static_cast<double>(step), std::isfinite(best) ? "best " + human_ns(best * 1e9) : "nothing fits");
    };
    return row.plan(simulator_, options_);
  }
  // The policy's decisions for the chosen tasks, the defaults for the others.
  sim::Plan by_policy() {
    GoPlaceOptions options;
    options.policy = command_.policy;
    options.models = command_.models;
    options.training.seed = options_.seed;
    options.training.threads = command_.program->threads.value_or(1);
    if (options_.tasks.placement) options.tasks.push_back("placement");
    if (options_.tasks.schedule) options.tasks.push_back("schedule");
    if (options_.tasks.fusion) options.tasks.push_back("fusion");
    sim::Plan plan = plan_with_policy(simulator_.graph(), simulator_.topology(), costs_, subject_.placed.xla_fusion,
                                      options, *command_.output);
    if (!options_.tasks.placement) plan.device = options_.base.device;
    if (!options_.tasks.fusion) plan.fusion = options_.base.fusion;
    if (!options_.tasks.schedule) plan.schedule = options_.base.schedule;
    return plan;
  }
  sim::Plan given() {
    const json parsed = json::parse(read_file(command_.from), nullptr, false);
    if (!parsed.is_object()) throw Error("not a plan in JSON", command_.from, "hone go place -o writes plans");
    sim::Plan plan = sim::plan_from_json(parsed);
    sim::check_plan(plan, simulator_.graph(), simulator_.topology().size());
    return plan;
  }
  void add(const std::string& name, sim::Plan plan) {
    Row row{name, std::move(plan), {}, {}};
    row.report = simulator_.run(row.plan);
    rows_.push_back(std::move(row));
  }

  const PlaceCommand& command_;
  const Subject& subject_;
  const sim::Costs& costs_;
  sim::Simulator& simulator_;
  sim::StrategyOptions options_;
  std::vector<Row> rows_;
  std::vector<Gain> gains_;
};

// Measures every plan's fusion with XLA:CPU against default XLA.
void measure(const PlaceCommand& command, Subject& subject, sim::Simulator& simulator, std::vector<Row>& rows) {
  ProgressOptions shown;
  shown.quiet = command.output->quiet;
  shown.total = static_cast<double>(rows.size());
  Progress progress("measuring", shown);
  const tune::Duel duel{
      .min_rounds = 5, .max_rounds = 20, .budget_ms = 1000, .precision = 0.01, .abandon_ratio = 0.2, .limit_s = 120};
  for (size_t i = 0; i < rows.size() && !interrupted(); ++i) {
    sim::StepTrace trace;
    simulator.run(rows[i].plan, &trace);
    const Decisions decisions =
        rows[i].name == "default" ? Decisions() : place::fusion_decisions(subject.placed, trace.kernels);
    try {
      rows[i].measured = subject.opened->session->measure_program(decisions, {}, duel);
    } catch (const tune::Stopped&) {
      break;  // keeps the measurements before the interrupt
    }
    progress.update(static_cast<double>(i + 1), rows[i].name);
  }
}

double most(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

json names_of(const sim::Topology& topology) {
  json names = json::array();
  for (const sim::Device& device : topology.devices) names.push_back(device.name);
  return names;
}

json row_json(const Row& row, bool measured) {
  const sim::StepReport& r = row.report;
  json out = {
      {"strategy", row.name},       {"step_seconds", r.step_seconds}, {"valid", r.valid},
      {"peak_bytes", r.peak_bytes}, {"busy_seconds", r.busy_seconds}, {"transferred_bytes", r.transferred_bytes},
      {"kernels", r.kernels}};
  if (measured) {
    const tune::Measurement& m = row.measured;
    out["measured"] = {{"outcome", tune::outcome_name(m.outcome)}, {"default_seconds", m.baseline_ns * 1e-9},
                       {"seconds", m.candidate_ns * 1e-9},         {"ratio", m.ratio},
                       {"interval", {m.ratio_low, m.ratio_high}},  {"note", m.note}};
  }
  return out;
}

json decisions_json(const Subject& subject, const sim::Topology& topology, const PlaceCommand& command,
                    const Row& row) {
  json ops = json::array();
  const auto& graph = subject.graph();
  for (int32_t i = 0; i < graph.size(); ++i) {
    if (graph.ops[i].kind == sim::OpKind::Input) continue;
    json entry = {{"name", graph.ops[i].name}, {"opcode", graph.ops[i].opcode}};
    entry["device"] = topology.devices[row.plan.device.empty() ? 0 : row.plan.device[i]].name;
    entry["schedule"] = row.plan.schedule.empty() ? json(nullptr) : json(row.plan.schedule[i]);
    entry["fusion"] = row.plan.fusion.empty() ? 0 : row.plan.fusion[i];
    ops.push_back(std::move(entry));
  }
  return {{"program", graph.name},
          {"topology", topology.name},
          {"tasks", command.tasks},
          {"strategy", row.name},
          {"seed", command.program->seed.value_or(0)},
          {"step_seconds", row.report.step_seconds},
          {"valid", row.report.valid},
          {"ops", ops}};
}

json result_json(const Subject& subject, const sim::Topology& topology, const PlaceCommand& command,
                 const std::vector<Row>& rows, const std::vector<Gain>& gains, const sim::StepTrace& trace) {
  const Row& chosen = rows.back();
  json result = row_json(chosen, command.measure), baselines = json::object(), table = json::array();
  for (const Row& row : rows) {
    table.push_back(row_json(row, command.measure));
    if (&row != &chosen) baselines[row.name] = row.report.valid ? json(row.report.step_seconds) : json(nullptr);
  }
  json path = json::array();
  for (int32_t k : trace.critical_path) path.push_back(subject.graph().ops[trace.kernels.root[k]].name);
  result["program"] = subject.graph().name;
  result["topology"] = topology.name;
  result["devices"] = names_of(topology);
  result["tasks"] = command.tasks;
  result["costs"] = command.costs;
  result["operations"] = subject.graph().size();
  result["edges"] = subject.graph().edges.size();
  result["baselines"] = baselines;
  result["table"] = table;
  result["placement"] =
      chosen.plan.device.empty() ? json(std::vector<int32_t>(subject.graph().ops.size(), 0)) : json(chosen.plan.device);
  result["critical_path"] = path;
  result["gains"] = json::array();
  for (const Gain& gain : gains)
    result["gains"].push_back({{"step", gain.step},
                               {"elapsed_seconds", gain.elapsed_s},
                               {"cpu_seconds", gain.cpu_s},
                               {"step_seconds", gain.seconds}});
  result["interrupted"] = interrupted();
  for (const auto& [key, path_of] : {std::pair("decisions", &command.out),
                                     {"hlo", &command.hlo},
                                     {"trace", &command.trace},
                                     {"graph", &command.graph}})
    result["output"][key] = path_of->empty() ? json(nullptr) : json(*path_of);
  return result;
}

void print_table(const Subject& subject, const sim::Topology& topology, const PlaceCommand& command,
                 const std::vector<Row>& rows) {
  fmt::print("{}: {} operations on {} ({}), deciding {}\n\n", subject.graph().name, subject.graph().size(),
             topology.name, topology.size() == 1 ? "1 device" : fmt::format("{} devices", topology.size()),
             command.tasks);
  fmt::print("  {:<16} {:>12} {:>9} {:>12} {:>6} {:>8}{}\n", "strategy", "step", "default/", "peak memory", "busy",
             "kernels", command.measure ? "   measured gain" : "");
  const double by_default = rows.front().report.step_seconds;
  for (const Row& row : rows) {
    const sim::StepReport& r = row.report;
    double busy = 0;
    for (double seconds : r.busy_seconds) busy += seconds;
    std::string measured;
    if (command.measure)
      measured = row.measured.ok() ? fmt::format("   {:.3f}x", row.measured.ratio)
                                   : fmt::format("   {}", tune::outcome_name(row.measured.outcome));
    fmt::print("  {:<16} {:>12} {:>8.3f}x {:>12} {:>5.0f}% {:>8}{}\n", row.name,
               r.valid ? human_ns(r.step_seconds * 1e9) : "out of mem.", by_default / r.step_seconds,
               human_bytes(most(r.peak_bytes)), 100 * busy / (r.step_seconds * topology.size()), r.kernels, measured);
  }
  if (!rows.back().report.valid) fmt::print("\n  {} runs out of memory: its time is not valid\n", rows.back().name);
}

void write_outputs(const PlaceCommand& command, const Subject& subject, sim::Simulator& simulator, const Row& chosen,
                   const sim::StepTrace& trace) {
  if (!command.out.empty())
    write_file(command.out, decisions_json(subject, simulator.topology(), command, chosen).dump(1) + "\n");
  if (!command.hlo.empty()) write_file(command.hlo, place::annotated_hlo(subject.placed, chosen.plan));
  if (!command.trace.empty()) write_file(command.trace, place::place_trace(simulator, chosen.plan, trace));
  if (!command.graph.empty()) write_file(command.graph, place::to_json(subject.graph()).dump() + "\n");
}

int place(const PlaceCommand& command) {
  const sim::Topology topology = load_devices(command.devices);
  const sim::Tasks tasks = sim::parse_tasks(command.tasks);
  if (command.strategy != kPolicy) sim::strategy(command.strategy);
  if (!command.hlo.empty() && command.program->program.ends_with(".json"))
    throw Error("a task graph has no HLO to annotate", "--hlo");
  if (command.measure && (topology.size() != 1 || !tasks.fusion || command.program->program.ends_with(".json")))
    throw Error("only fusion of a program on one device can be measured", "--measure",
                "--devices cpu1 --tasks fusion, and a program rather than a task graph");
  Subject subject = open_subject(command);
  sim::check_memory(subject.graph(), topology, command.program->program);
  const CostSource source{command.costs, command.weights, command.program->threads.value_or(1)};
  const sim::Costs costs =
      operation_costs(source, subject.opened ? subject.opened->session.get() : nullptr, subject.placed, topology);
  sim::Simulator simulator(subject.graph(), topology, costs);
  Placing placing(command, subject, costs, simulator);
  std::vector<Row> rows = placing.run();
  if (command.measure) measure(command, subject, simulator, rows);
  sim::StepTrace trace;
  simulator.run(rows.back().plan, &trace);
  write_outputs(command, subject, simulator, rows.back(), trace);
  if (command.output->json)
    print(result_json(subject, topology, command, rows, placing.gains(), trace));
  else
    print_table(subject, topology, command, rows);
  return 0;
}

}  // namespace

Runner declare_place(CLI::App& app) {
  const auto command = std::make_shared<PlaceCommand>();
  command->program = add_program_options(app);
  std::vector<std::string> names;
  for (const sim::StrategyRow& row : sim::strategies()) names.emplace_back(row.name);
  const std::string strategies = fmt::format("{}", fmt::join(names, ", "));
  names.emplace_back("go");
  offer(app.add_option("--devices", command->devices,
                       fmt::format("topology: a file (TOML) or one of {}", fmt::join(device_presets(), ", "))),
        device_presets())
      ->required()
      ->type_name("FILE");
  offer(app.add_option("--tasks", command->tasks,
                       "tasks that are decided, separated by commas: placement, fusion, schedule (default placement)")
            ->type_name("LIST"),
        {"placement", "fusion", "schedule"});
  offer(app.add_option("--strategy", command->strategy,
                       "strategy: " + strategies + ", or go (the learned policy) (default anneal)"),
        names);
  app.add_option(kPolicyFile, command->policy,
                 "policy of hone go train, for --strategy go (default: the one that comes with hone)")
      ->type_name("FILE");
  add_models_option(app, command->models);
  app.add_option("--steps", command->steps, "simulations of a strategy that searches (default 10000)")
      ->check(above_zero());
  app.add_option("--from", command->from, "plan (JSON of hone go place) for the table, where a search may begin")
      ->type_name("FILE");
  add_cost_options(app, command->costs, command->weights);
  app.add_option("--randoms", command->randoms, "random plans in the table, 1 to 1000 (default 1)")
      ->check(within(1, 1000));
  app.add_flag("--measure", command->measure, "run every fusion plan of the table on this CPU as well");
  begin_group(app, "Output");
  app.add_option("-o,--output", command->out, "file for the decisions (JSON)")->type_name("FILE");
  app.add_option("--hlo", command->hlo, "file for the lowered program with the decisions as attributes")
      ->type_name("FILE");
  app.add_option("--trace", command->trace, "file for the simulated step as a trace, for ui.perfetto.dev")
      ->type_name("FILE");
  app.add_option("--graph", command->graph, "file for the task graph (JSON)")->type_name("FILE");
  command->output = add_output_options(app);
  return [command] { return place(*command); };
}

}  // namespace hone::cli
