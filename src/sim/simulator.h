// The step time of a planned graph on a topology, without running it: list scheduling per device, transfers on links,
// memory by reference counts. After TensorFlow's estimator of placements (VirtualScheduler, tensorflow/core/grappler/costs/
// virtual_scheduler.h) and XLA:GPU's model of kernels (xla/service/gpu/model/gpu_performance_model_base.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/costs.h"
#include "sim/decisions.h"
#include "sim/parameters.h"
#include "sim/step.h"
#include "sim/task_graph.h"
#include "sim/topology.h"

namespace hone::sim {

struct SimulatorState;  // step_run.h

// How a step runs. A device runs one kernel at a time, always the ready one with the highest priority, and never waits while
// one is ready. A finished result goes once to every other device that reads it, those with the most urgent reader first;
// a transfer occupies all links of its route from the moment all are free, in the order of requests. Parameters are on every
// device that reads them, or (Parameters::Home) are sent from one device at the beginning of the step, in the order of
// their first readers. Memory of a device: inputs it reads or that live on it (for the whole step), results from the start of the kernel that writes them to the end of the last kernel or
// transfer that reads them, copies from the request of the transfer to the end of their last reader, results of the program
// to the end.
// Where the topology's devices are threads (HostThreads), a device copies what a kernel reads from others before it runs the kernel, and
// links carry nothing beside the parameters' homes.
// One object per thread: run() reuses its buffers. Holds no references to its arguments.
class Simulator {
 public:
  // The graph must be sorted. Throws Error when it is not, when a cost factor is not positive, or when a topology has no
  // device.
  Simulator(TaskGraph graph, Topology topology, Costs costs = {}, FusionRules rules = {},
            Parameters parameters = Parameters::Copied);
  ~Simulator();
  Simulator(Simulator&&) noexcept;
  Simulator& operator=(Simulator&&) noexcept;

  // Throws Error for a plan that does not fit (check_plan). `trace` may be null.
  StepReport run(const Plan& plan, StepTrace* trace = nullptr);
  // The report of run(), or, as soon as it is certain that the plan exceeds the limit, one that is not valid and has an
  // infinite time. Plans that take exactly limit.seconds are within it. For searches, most of whose plans are worse.
  StepReport run_within(const Plan& plan, const StepLimit& limit);

  const TaskGraph& graph() const;
  const Topology& topology() const;
  const FusionRules& rules() const;
  const Neighbours& consumers() const;
  const Neighbours& producers() const;
  Parameters parameters() const;
  const std::vector<int32_t>& updates() const;  // parameter_updates()
  // The time of an operation as a separate kernel on a device, launch included. For strategies that need estimates.
  double op_seconds(int32_t op, int32_t device) const;
  double transfer_seconds(int32_t from, int32_t to, double bytes) const;  // of an idle route
  // The time in seconds that fusing an operation into all its consumers saves while nothing else is fused; negative if it
  // would be recomputed too often; nullopt if it can never be fused. The priority of XLA:GPU's PriorityFusion
  // (xla/service/gpu/model/gpu_performance_model.cc) with this simulator's costs.
  std::optional<double> fusion_gain(int32_t op, int32_t device) const;

 private:
  StepReport simulate(const Plan& plan, const StepLimit& limit, StepTrace* trace);
  std::unique_ptr<SimulatorState> state_;
};

}  // namespace hone::sim
