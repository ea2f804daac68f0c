// hone shard PROGRAM: how to divide a program between the devices of a mesh. A search chooses the shardings of parameters and
// large products, XLA completes them, a model predicts the time; with --run they also run on host devices of this CPU.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/command_tree.h"
#include "cli/go.h"
#include "cli/shard_report.h"
#include "cost/ensemble.h"
#include "cost/shipped.h"
#include "graph/hlo_reader.h"
#include "search/strategies.h"
#include "sharding/baselines.h"

namespace hone::cli {

namespace {

using namespace hone::sharding;

constexpr int64_t kEvaluations = 100;

// The topology asked for, or the devices of this machine.
sim::Topology topology_of(const ShardCommand& command, const Mesh& mesh) {
  if (command.on_host()) return host_devices(mesh.devices(), static_cast<double>(this_machine().memory_bytes));
  sim::Topology topology = load_devices(command.devices);
  if (topology.size() != mesh.devices())
    throw Error(fmt::format("a mesh of {} devices on {} with {}", mesh.devices(), topology.name, topology.size()),
                "--mesh");
  return topology;
}

std::unique_ptr<KernelTimes> times_of(const ShardCommand& command, const sim::Topology& topology) {
  if (!command.on_host()) return roofline_times(topology.devices[0]);
  const features::Cpu cpu = features::this_cpu(1, command.program->max_isa);
  const double share = std::min(1.0, static_cast<double>(this_machine().usable_cores) / topology.size());
  const std::string shipped = cost::shipped_model("fusion", command.models);
  if (!shipped.empty()) try {
      return predicted_times(cost::load_learned_model(shipped, cpu, /*networks=*/false), share);
    } catch (const Error& e) {
      spdlog::warn("predicting by the analytical model: {}", e.what());
    }
  return predicted_times(cost::analytical_member("", "fusion", cpu), share);
}

class Sharding {
 public:
  Sharding(const ShardCommand& command, const Mesh& mesh, const sim::Topology& topology)
      : command_(command),
        topology_(topology),
        times_(times_of(command, topology)),
        opened_(open_program(*command.program)) {
    check_runs(opened_);
    const wire::PartitionReplyT whole = session().partitioned({}, /*want_hlo=*/true);
    one_device_ = estimate_of(whole, topology, *times_);
    const std::string_view proto(reinterpret_cast<const char*>(whole.module_proto.data()), whole.module_proto.size());
    std::optional<std::vector<int>> weights;
    if (command.program->weights) weights = session().target().weights;
    space_ = make_space(mesh, read_arguments(read_hlo_graph(proto), weights), !command.no_products);
    cost_ = std::make_unique<ShardCost>(space_, topology_, *times_,
                                        [this](const wire::PartitioningT& p) { return session().partitioned(p); });
  }

  void decide() {
    for (const Baseline& rule : baselines(space_))
      rows_.push_back({rule.name, rule.choice, cost_->estimate(rule.choice), {}});
    const double begin_s = steady_s();
    const Choice start = std::min_element(rows_.begin(), rows_.end(), is_better)->choice;
    const SearchReport found = make_strategy(command_.strategy)->search(space_.space, start, *cost_, options());
    elapsed_s_ = seconds_since(begin_s);
    evaluations_ = cost_->evaluated();
    rows_.push_back({command_.strategy, found.best, cost_->estimate(found.best), {}});
    answer_.row = rows_.size() - 1;
    const ShardEstimate& answer = rows_.back().estimate;
    if (!answer.valid && interrupted()) throw RunError("interrupted before any sharding was evaluated");
    if (std::all_of(rows_.begin(), rows_.end(), [](const ShardRow& row) { return row.estimate.crashed; }))
      throw RunError(fmt::format("XLA ended at every sharding: {}", answer.error), opened_.file.name);
    if (!answer.valid)
      throw Error(fmt::format("no sharding was found that works on a mesh of {}: {}", space_.mesh.text(), answer.error),
                  opened_.file.name, "a mesh of more devices, or devices with more memory");
  }

  // On host devices, whatever the topology is. False where that failed: then there are no times, and nothing was compared. The answer is
  // then one that has one device's outputs; throws RunError where none has. Where these are the devices asked for, it is one that ran
  // faster by more than two runs differ by, if there is one.
  bool run() {
    try {
      run_rows();
    } catch (const tune::Stopped&) {
      return false;
    } catch (const wire::NoWorker&) {
      throw;
    } catch (const RunError& failed) {
      spdlog::warn("the shardings were not run: {}", failed.what());
      return false;
    }
    take_verified();
    return true;
  }

  void print_answer(bool write) {
    session().begin_confirmation();  // an interrupt ended the search alone
    const wire::PartitionReplyT completed =
        session().partitioned(partitioning_of(space_, rows_[answer_.row].choice), /*want_hlo=*/true);
    if (write && !command_.hlo.empty()) write_file(command_.hlo, completed.annotated);
    const ShardAnswer answer{command_, opened_.file.name, topology_, space_,       one_device_, rows_,
                             answer_,  measured_,         completed, evaluations_, elapsed_s_};
    if (command_.output->json)
      print(shard_json(answer));
    else
      print_shard(answer);
  }

 private:
  void take_verified() {
    const ShardRow& found = rows_[answer_.row];
    const std::string note = found.measured ? found.measured->note : "it was not run";
    const std::optional<ShardChoice> choice = choose_verified(rows_, answer_.row, command_.on_host());
    if (!choice) throw RunError("no sharding has the outputs of one device", opened_.file.name, note);
    if (!is_verified(found))
      spdlog::warn("the sharding found has other outputs than one device{}{}: {} is the answer",
                   note.empty() ? "" : ": ", note, rows_[choice->row].name);
    answer_ = *choice;
  }

  void run_rows() {
    std::vector<Choice> choices;
    std::vector<wire::PartitioningT> candidates;
    for (const ShardRow& row : rows_) {
      if (!row.estimate.valid || std::find(choices.begin(), choices.end(), row.choice) != choices.end()) continue;
      choices.push_back(row.choice);
      candidates.push_back(partitioning_of(space_, row.choice));
    }
    const tune::Duel duel{.min_rounds = 7, .max_rounds = 31, .budget_ms = 5000, .limit_s = 600};
    measured_ = run_shardings(session(), candidates, duel);
    for (ShardRow& row : rows_) {
      const auto known = std::find(choices.begin(), choices.end(), row.choice);
      if (row.estimate.valid && known != choices.end())
        row.measured = measured_->candidates.at(known - choices.begin());
    }
  }

  tune::Session& session() { return *opened_.session; }

  SearchOptions options() {
    SearchOptions options;
    options.seed = command_.program->seed.value_or(0);
    constexpr int64_t kMost = std::numeric_limits<int>::max();
    options.max_evaluations =
        static_cast<int>(std::min(kMost, command_.steps.value_or(command_.budget.empty() ? kEvaluations : kMost)));
    const double budget_s = command_.budget.empty() ? 0 : parse_duration_s(command_.budget, "--budget");
    options.should_stop = [=, begin_s = steady_s()] {
      return interrupted() || (budget_s > 0 && seconds_since(begin_s) > budget_s);
    };
    ProgressOptions shown;
    shown.quiet = command_.output->quiet;
    shown.budget_s = budget_s;
    if (budget_s == 0) shown.total = options.max_evaluations;
    options.on_evaluated = [progress = std::make_shared<Progress>("sharding", shown), count = 0, best = kFailed](
                               const Choice&, double cost) mutable {
      best = std::min(best, cost);
      progress->update(++count, best < kFailed ? "best " + human_ns(best) : "nothing fits");
    };
    return options;
  }

  const ShardCommand& command_;
  const sim::Topology& topology_;
  std::unique_ptr<KernelTimes> times_;
  OpenedProgram opened_;
  ShardEstimate one_device_;
  ShardSpace space_;
  std::unique_ptr<ShardCost> cost_;
  std::vector<ShardRow> rows_;
  ShardChoice answer_;
  std::optional<MeasuredShardings> measured_;
  int evaluations_ = 0;
  double elapsed_s_ = 0;
};

int shard(const ShardCommand& command) {
  const Mesh mesh = parse_mesh(command.mesh);
  const sim::Topology topology = topology_of(command, mesh);
  if (!command.budget.empty() && !(parse_duration_s(command.budget, "--budget") > 0))
    throw Error("a search of no time", "--budget", "give more than 0 s");
  make_strategy(command.strategy);
  if (const auto folder = std::filesystem::path(command.hlo).parent_path();
      !folder.empty() && !std::filesystem::is_directory(folder))
    throw Error("there is no such folder", folder.string(), "-o names a file in a folder that exists");
  Sharding sharding(command, mesh, topology);
  sharding.decide();
  const bool ran = !command.run || interrupted() || sharding.run();
  sharding.print_answer(ran);
  return ran ? 0 : 1;
}

}  // namespace

Runner declare_shard(CLI::App& app) {
  const auto command = std::make_shared<ShardCommand>();
  command->program = add_program_options(app, Threads::AllCores);
  app.add_option("--mesh", command->mesh, "devices as a grid of 1 to 4 axes x, y, z, w: 8, 2x4")
      ->required()
      ->type_name("MESH");
  std::vector<std::string> devices = device_presets();
  devices.insert(devices.begin(), kHost);
  offer(app.add_option(
            "--devices", command->devices,
            fmt::format("topology: a file (TOML) or one of {}; host: this CPU's devices as XLA makes them, of one "
                        "thread each (default host)",
                        fmt::join(devices, ", "))),
        devices)
      ->type_name("FILE");
  offer(app.add_option("--strategy", command->strategy,
                       fmt::format("search: {} (default greedy)", fmt::join(strategy_names(), ", "))),
        strategy_names());
  app.add_option("--steps", command->steps,
                 "shardings that the search evaluates (default 100, or as many as the budget allows)")
      ->check(above_zero());
  app.add_option("--budget", command->budget, "time of the search, as 30s or 2m (default: no limit)")
      ->type_name("DURATION");
  app.add_flag("--no-products", command->no_products,
               "decide about parameters alone, which is all that in_shardings of JAX can say");
  app.add_flag(
      "--run", command->run,
      "run the answer and the usual rules on host devices of this CPU, compare their outputs and time them beside "
      "one device; with --devices host one that ran 5 % faster is the answer");
  add_models_option(app, command->models);
  begin_group(app, "Output");
  app.add_option("-o,--output", command->hlo, "file for the program as HLO text with the shardings")->type_name("FILE");
  command->output = add_output_options(app);
  return [command] { return shard(*command); };
}

}  // namespace hone::cli
