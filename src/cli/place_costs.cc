#include "cli/place_costs.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "cost/ensemble.h"
#include "cost/kernel_ranker.h"
#include "cost/learn_library.h"
#include "cost/run_time_model.h"
#include "features/machine_record.h"

namespace hone::cli {

namespace {

constexpr int kProfiledRuns = 5;

std::unique_ptr<cost::LearnedModel> open_model(const CostSource& source, const std::string& max_isa, bool shipped) {
  if (source.weights.empty() && shipped)
    return cost::open_shipped_run_time_model(source.models, source.threads, max_isa);
  const features::Cpu cpu = features::this_cpu(source.threads, max_isa);
  return source.weights.empty() ? cost::analytical_member("", "fusion", cpu)
                                : cost::load_learned_model(source.weights, cpu);
}

// Predicted seconds of each operation.
std::vector<double> predicted_seconds(const CostSource& source, tune::Session& session,
                                      const place::PlacedProgram& placed) {
  const auto model = open_model(source, session.target().max_isa, placed.compiled.has_value());
  if (!model->predicts_runtime()) throw Error("these weights rank options and predict no run times", source.weights);
  const std::vector<Kernel> kernels =
      placed.compiled ? placed.compiled->kernels : session.lower(placed.keep_all, false).kernels;
  std::map<std::string, double> seconds;
  for (const Kernel& kernel : kernels) {
    if (kernel.module.empty()) continue;
    const double one = 1e-9 * model->predict(cost::EncodedOptions(kernel, {kernel.default_value()}).view())[0];
    for (const std::string& instruction : kernel.instructions) seconds[instruction] = one;
  }
  if (placed.compiled) return place::seconds_of_kernels(placed, seconds);
  std::vector<double> out;
  for (const std::string& instruction : placed.program.instructions) {
    const auto known = seconds.find(instruction);
    out.push_back(known == seconds.end() ? 0 : known->second);
  }
  return out;
}

}  // namespace

void add_cost_options(CLI::App& app, std::string& kind, std::string& weights) {
  app.add_option(
         "--costs", kind,
         "source of the operations' times: roofline, predicted (by --costs-model, else kernels on host devices by the "
         "shipped model and others by the analytical one), or measured on this CPU (default roofline; predicted for "
         "kernels on host devices)")
      ->check(one_of({"roofline", "predicted", "measured"}));
  app.add_option("--costs-model", weights, "weights of hone train fusion, for --costs predicted")->type_name("FILE");
}

sim::Topology measured_devices(sim::Topology topology, const std::string& max_isa) {
  if (!topology.threads) return topology;
  const MachineSpeed speed = features::this_machine_record("", 1, max_isa).speed;
  for (sim::Device& device : topology.devices) {
    const double faster = 1e9 * speed.flops / device.matrix_flops;
    if (faster > 0) {
      device.matrix_flops *= faster;
      device.vector_flops *= faster;
      device.special_per_second *= faster;
    }
    if (speed.read_memory > 0) device.bytes_per_second = 1e9 * speed.read_memory;
  }
  return topology;
}

sim::Costs operation_costs(const CostSource& source, tune::Session* session, const place::PlacedProgram& placed,
                           const sim::Topology& topology) {
  if (source.kind == "roofline") return {};
  if (!session) throw Error("a task graph has no kernels to time", "--costs", "leave --costs out");
  const std::vector<double> seconds = source.kind == "measured"
                                          ? place::measured_seconds(*session, placed, kProfiledRuns)
                                          : predicted_seconds(source, *session, placed);
  if (std::none_of(seconds.begin(), seconds.end(), [](double s) { return s > 0; })) {
    if (source.kind == "predicted" && placed.compiled) return {};  // no kernel among them
    throw RunError("no operation's time could be found", placed.program.graph.name, "--costs roofline needs none");
  }
  return sim::costs_from_seconds(placed.program.graph, topology.devices[0], seconds);
}

}  // namespace hone::cli
