// hone place PROGRAM: a strategy decides the device, the order and the fusion of a program's operations, and is
// compared with the baselines in the simulator; with --measure the fusion plans also run on this CPU.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/json_text.h"
#include "base/machine.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/command_tree.h"
#include "cli/go.h"
#include "cli/place_costs.h"
#include "cli/place_report.h"
#include "place/place_program.h"
#include "sim/strategies.h"
#include "sim/task_graph_json.h"

namespace hone::cli {

namespace {

using nlohmann::json;

constexpr char kPolicy[] = "go";  // the strategy that is a learned policy
constexpr int64_t kSteps = 10000;

// On host devices what is placed are the kernels that XLA compiles, unless their fusion is decided.
bool places_kernels(const PlaceCommand& command, const sim::Topology& topology, const sim::Tasks& tasks) {
  return topology.threads && !tasks.fusion && !command.program->program.ends_with(".json");
}

PlaceSubject open_subject(const PlaceCommand& command, bool kernels) {
  PlaceSubject subject;
  const std::string& path = command.program->program;
  if (path.ends_with(".json")) {
    subject.placed.program.graph = place::read_task_graph(read_file(path), path);
    return subject;
  }
  subject.opened = std::make_unique<OpenedProgram>(open_program(*command.program));
  tune::Session& session = *subject.opened->session;
  subject.placed = kernels ? place::place_kernels(session) : place::place_program(session);
  if (subject.graph().size() == 0) throw Error("the program has no operations to place", path);
  return subject;
}

bool decides_any(const sim::Tasks& row, const sim::Tasks& asked) {
  return (row.placement && asked.placement) || (row.fusion && asked.fusion) || (row.schedule && asked.schedule);
}

bool better(const PlaceRow& a, const PlaceRow& b) {
  if (a.report.valid != b.report.valid) return a.report.valid;
  return a.report.step_seconds < b.report.step_seconds;
}

class Placing {
 public:
  Placing(const PlaceCommand& command, const PlaceSubject& subject, const sim::Costs& costs, sim::Simulator& simulator)
      : command_(command), subject_(subject), costs_(costs), simulator_(simulator) {
    options_.tasks = sim::parse_tasks(command.tasks);
    options_.seed = command.program->seed.value_or(0);
    options_.steps = command.steps.value_or(command.budget.empty() ? kSteps : std::numeric_limits<int64_t>::max());
    options_.base.fusion = subject.placed.xla_fusion;
    options_.default_fusion = subject.placed.xla_fusion;
    if (options_.tasks.fusion && options_.base.fusion.empty())  // a task graph: what XLA would fuse is not known
      options_.base.fusion = sim::strategy("priority-fusion").plan(simulator, options_).fusion;
    options_.stop = [] { return interrupted(); };
  }

  // The defaults first, then the baselines, and last the chosen strategy.
  std::vector<PlaceRow> run() {
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
    for (size_t i = 0; i < command_.from.size(); ++i)
      add(command_.from.size() == 1 ? "given" : fmt::format("given-{}", i), given(command_.from[i]));
    add(command_.strategy, chosen());
    return std::move(rows_);
  }
  const PlaceSearch& searched() const { return searched_; }

 private:
  sim::Plan chosen() {
    if (command_.strategy == kPolicy) return by_policy();
    const sim::StrategyRow& row = sim::strategy(command_.strategy);
    if (!row.searches) return row.plan(simulator_, options_);
    // A search begins with the best baseline's plan, so that it never returns a worse one.
    options_.base = std::min_element(rows_.begin(), rows_.end(), better)->plan;
    ProgressOptions shown;
    shown.quiet = command_.output->quiet;
    shown.budget_s = command_.budget.empty() ? 0 : parse_duration_s(command_.budget, "--budget");
    if (!command_.budget.empty() && !(shown.budget_s > 0))
      throw Error("a search of no time", "--budget", "give more than 0 s");
    if (command_.steps || command_.budget.empty()) shown.total = static_cast<double>(options_.steps);
    Progress progress(row.name, shown);
    const double begin_s = steady_s(), begin_cpu_s = cpu_s();
    if (shown.budget_s > 0) {
      options_.spent = [=] { return seconds_since(begin_s) / shown.budget_s; };
      options_.stop = [this] { return interrupted() || options_.spent() >= 1; };
    }
    options_.progress = [&, known = std::numeric_limits<double>::infinity()](int64_t step, double best) mutable {
      if (best < known) searched_.gains.push_back({step, seconds_since(begin_s), cpu_s() - begin_cpu_s, best});
      searched_.simulations = step;
      known = std::min(known, best);
      progress.update(static_cast<double>(step), std::isfinite(best) ? "best " + human_ns(best * 1e9) : "nothing fits");
    };
    sim::Plan plan = row.plan(simulator_, options_);
    searched_.elapsed_s = seconds_since(begin_s);
    searched_.cpu_s = cpu_s() - begin_cpu_s;
    return plan;
  }
  // The policy's decisions for the chosen tasks, the defaults for the others.
  sim::Plan by_policy() {
    GoPlaceOptions options;
    options.policy = command_.policy;
    options.parameters = command_.parameters;
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
  sim::Plan given(const std::string& file) {
    const json parsed = json::parse(shallow_json(read_file(file)), nullptr, false);
    if (!parsed.is_object()) throw Error("not a plan in JSON", file, "hone go place -o writes plans");
    sim::Plan plan = sim::plan_from_json(parsed);
    sim::check_plan(plan, simulator_.graph(), simulator_.topology().size());
    return plan;
  }
  void add(const std::string& name, sim::Plan plan) {
    PlaceRow row{name, std::move(plan), {}, {}, {}};
    row.report = simulator_.run(row.plan);
    rows_.push_back(std::move(row));
  }

  const PlaceCommand& command_;
  const PlaceSubject& subject_;
  const sim::Costs& costs_;
  sim::Simulator& simulator_;
  sim::StrategyOptions options_;
  std::vector<PlaceRow> rows_;
  PlaceSearch searched_;
};

// Measures every plan's fusion with XLA:CPU against default XLA.
void measure(const PlaceCommand& command, PlaceSubject& subject, sim::Simulator& simulator,
             std::vector<PlaceRow>& rows) {
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

// What a plan says about devices, in the order in which the simulator begins operations.
wire::PartitioningT placement_of(const sim::Simulator& simulator, const PlaceSubject& subject, const sim::Plan& plan,
                                 const sim::StepTrace& trace) {
  wire::PartitioningT out;
  out.partitions = simulator.topology().size();
  for (const sim::KernelRun& run : trace.runs) {
    const int32_t op = trace.kernels.root[run.kernel];
    auto& entry = *out.shardings.emplace_back(std::make_unique<wire::ShardingT>());
    entry.instruction = subject.placed.program.instructions[op];
    entry.value = fmt::format("{{maximal device={}}}", plan.device.empty() ? 0 : plan.device[op]);
  }
  return out;
}

// Every plan on host devices of this CPU, taking turns with one device. Plans of the same placement are run once.
void run_plans(const PlaceCommand& command, const PlaceSubject& subject, sim::Simulator& simulator,
               std::vector<PlaceRow>& rows) {
  std::vector<wire::PartitioningT> candidates;
  std::vector<size_t> candidate_of;
  std::vector<const std::vector<int32_t>*> known;
  for (const PlaceRow& row : rows) {
    const auto same = std::find_if(known.begin(), known.end(), [&](const auto* d) { return *d == row.plan.device; });
    candidate_of.push_back(same - known.begin());
    if (same != known.end()) continue;
    known.push_back(&row.plan.device);
    sim::StepTrace trace;
    simulator.run(row.plan, &trace);
    candidates.push_back(placement_of(simulator, subject, row.plan, trace));
  }
  const tune::Duel duel{.min_rounds = 7, .max_rounds = 31, .budget_ms = 5000, .limit_s = 600};
  ProgramOptions program = *command.program;  // plans are of a program lowered for one thread
  program.threads = this_machine().usable_cores;
  const OpenedProgram opened = open_program(program);
  const sharding::MeasuredShardings measured = sharding::run_shardings(*opened.session, candidates, duel);
  for (size_t i = 0; i < rows.size(); ++i) rows[i].ran = measured.candidates.at(candidate_of[i]);
}

// Options that contradict each other.
void check_command(const PlaceCommand& command, const sim::Topology& topology, const sim::Tasks& tasks) {
  const bool is_graph = command.program->program.ends_with(".json");
  if (!command.hlo.empty() && is_graph) throw Error("a task graph has no HLO to annotate", "--hlo");
  if (command.measure && (topology.size() != 1 || !tasks.fusion || is_graph))
    throw Error("only fusion of a program on one device can be measured", "--measure",
                "--devices cpu1 --tasks fusion, and a program rather than a task graph");
  if (!command.run) return;
  constexpr int32_t kMostHostDevices = 8;
  if (is_graph) throw Error("a task graph cannot be run", "--run");
  if (topology.size() < 2 || topology.size() > kMostHostDevices)
    throw Error(fmt::format("2 to {} host devices can run a placement, not {}", kMostHostDevices, topology.size()),
                "--run", "--devices cpu2");
  if (command.program->threads.value_or(1) != 1)
    throw Error("host devices have one thread each", "--threads", "leave --threads out");
  if (!topology.threads) throw Error("only host devices run, not those of " + topology.name, "--run", "--devices cpu2");
  if (tasks.fusion || tasks.schedule)
    throw Error("placements run with XLA's own fusion and in the simulator's order alone", "--run",
                "--tasks placement");
}

// With what the topology decides: devices that are threads have every parameter, and their kernels' times are predicted.
PlaceCommand completed(PlaceCommand command, const sim::Topology& topology, bool kernels) {
  if (command.parameters.empty()) command.parameters = topology.threads ? "copied" : "home";
  if (command.costs.empty()) command.costs = kernels ? "predicted" : "roofline";
  return command;
}

int place(const PlaceCommand& given) {
  const sim::Topology topology = measured_devices(load_devices(given.devices), given.program->max_isa);
  const sim::Tasks tasks = sim::parse_tasks(given.tasks);
  const bool kernels = places_kernels(given, topology, tasks);
  const PlaceCommand command = completed(given, topology, kernels);
  if (!command.budget.empty()) parse_duration_s(command.budget, "--budget");
  if (command.strategy != kPolicy) sim::strategy(command.strategy);
  check_command(command, topology, tasks);
  PlaceSubject subject = open_subject(command, kernels);
  sim::check_memory(subject.graph(), topology, command.program->program);
  const CostSource source{command.costs, command.weights, command.models, command.program->threads.value_or(1)};
  const sim::Costs costs =
      operation_costs(source, subject.opened ? subject.opened->session.get() : nullptr, subject.placed, topology);
  sim::Simulator simulator(subject.graph(), topology, costs, {}, sim::parameters_from_name(command.parameters));
  Placing placing(command, subject, costs, simulator);
  std::vector<PlaceRow> rows = placing.run();
  if (command.measure) measure(command, subject, simulator, rows);
  if (command.run && !interrupted()) run_plans(command, subject, simulator, rows);
  sim::StepTrace trace;
  simulator.run(rows.back().plan, &trace);
  const PlaceAnswer answer{command, subject, topology, rows, placing.searched(), trace};
  write_place_files(answer, simulator);
  if (command.output->json)
    print(place_json(answer));
  else
    print_place(answer);
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
                       "tasks that are decided, separated by commas: placement, fusion, schedule (default: all)")
            ->type_name("LIST"),
        {"placement", "fusion", "schedule"});
  offer(app.add_option("--strategy", command->strategy,
                       "strategy: " + strategies + ", or go (the learned policy) (default guided-moves)"),
        names);
  app.add_option(kPolicyFile, command->policy,
                 "policy of hone go train, for --strategy go (default: the one that comes with hone)")
      ->type_name("FILE");
  add_models_option(app, command->models);
  app.add_option("--steps", command->steps,
                 "simulations of a strategy that searches (default 10000, or as many as the budget allows)")
      ->check(above_zero());
  app.add_option("--budget", command->budget, "time of a strategy that searches, as 5s or 2m (default: no limit)")
      ->type_name("DURATION");
  app.add_option("--parameters", command->parameters,
                 "where parameters are when a step begins: home (on the device of their update or first reader; others "
                 "receive them over links) or copied (on every device that reads them) (default home; copied on host "
                 "devices, which run so)")
      ->check(one_of({"home", "copied"}));
  app.add_option("--from", command->from,
                 "plans (JSON of hone go place) for the table, where a search may begin; can be given several times")
      ->allow_extra_args(false)
      ->type_name("FILE");
  add_cost_options(app, command->costs, command->weights);
  app.add_option("--randoms", command->randoms, "random plans in the table, 1 to 1000 (default 1)")
      ->check(within(1, 1000));
  app.add_flag("--measure", command->measure, "run every fusion plan of the table on this CPU as well");
  app.add_flag(
      "--run", command->run,
      "run every plan of the table on 2 to 8 host devices of this CPU, compare outputs with one device and time "
      "them beside it");
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
