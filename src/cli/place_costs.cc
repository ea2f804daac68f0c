#include "cli/place_costs.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "cost/ensemble.h"
#include "cost/kernel_ranker.h"
#include "cost/learn_library.h"

namespace hone::cli {

namespace {

constexpr int kProfiledRuns = 5;

// Predicted seconds of each operation: by fusion weights of `hone train`, or by the analytical model.
std::vector<double> predicted_seconds(const CostSource& source, tune::Session& session,
                                      const place::PlacedProgram& placed) {
  const features::Cpu cpu = features::this_cpu(source.threads, session.target().max_isa);
  const auto model = source.weights.empty() ? cost::analytical_member("", "fusion", cpu)
                                            : cost::load_learned_model(source.weights, cpu);
  if (!model->predicts_runtime()) throw Error("these weights rank options and predict no run times", source.weights);
  std::map<std::string, double> seconds;
  for (const Kernel& kernel : session.lower(placed.keep_all, false).kernels)
    if (!kernel.module.empty())
      seconds[kernel.fingerprint] =
          1e-9 * model->predict(cost::EncodedOptions(kernel, {kernel.default_value()}).view())[0];
  std::vector<double> out;
  for (const std::string& instruction : placed.program.instructions) {
    const auto kernel = placed.kernels.find(instruction);
    out.push_back(kernel == placed.kernels.end() ? 0 : seconds[kernel->second]);
  }
  return out;
}

}  // namespace

void add_cost_options(CLI::App& app, std::string& kind, std::string& weights) {
  app.add_option(
         "--costs", kind,
         "source of the operations' times: roofline, predicted (by --costs-model or the analytical model), or measured "
         "on this CPU (default roofline)")
      ->check(one_of({"roofline", "predicted", "measured"}));
  app.add_option("--costs-model", weights, "weights of hone train fusion, for --costs predicted")->type_name("FILE");
}

sim::Costs operation_costs(const CostSource& source, tune::Session* session, const place::PlacedProgram& placed,
                           const sim::Topology& topology) {
  if (source.kind == "roofline") return {};
  if (!session) throw Error("a task graph has no kernels to time", "--costs", "leave --costs out");
  const std::vector<double> seconds = source.kind == "measured"
                                          ? place::measured_seconds(*session, placed, kProfiledRuns)
                                          : predicted_seconds(source, *session, placed);
  if (std::none_of(seconds.begin(), seconds.end(), [](double s) { return s > 0; }))
    throw RunError("no operation's time could be found", placed.program.graph.name, "--costs roofline needs none");
  return sim::costs_from_seconds(placed.program.graph, topology.devices[0], seconds);
}

}  // namespace hone::cli
