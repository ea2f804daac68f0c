// The step time of a planned graph on a topology, without running it: list scheduling per device, transfers on links,
// memory by reference counts. After the public description of the estimators used for placement (field notes 1.4:
// Grappler's VirtualScheduler) and XLA:GPU's kernel model (6.1).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/decisions.h"
#include "sim/task_graph.h"
#include "sim/topology.h"

namespace hone::sim {

// Where the time of operations comes from. Without factors: a roofline of each device. A factor multiplies the roofline
// time (launch excluded) of an operation; in a fused kernel the factors of its members count by their share of the time.
struct Costs {
  std::vector<double> factor;  // [ops], or empty
};

// Of one operation as a kernel of its own, launch excluded: C + M - overlap * min(C, M), where C = computing (Matrix on the
// matrix units, special functions apart) and M = bytes of operands and result over the memory's speed.
double roofline_seconds(const TaskGraph& graph, int32_t op, const Device& device);
// Factors that make operations take `seconds` [ops] on the device, launch included; entries that are not positive keep 1.
Costs costs_from_seconds(const TaskGraph& graph, const Device& device, const std::vector<double>& seconds);

struct KernelRun {
  int32_t kernel = 0, device = 0;  // kernel: index into StepTrace::kernels
  double start = 0, end = 0;       // seconds
};
struct TransferRun {
  int32_t op = 0, from = 0, to = 0;  // whose result, between which devices
  double bytes = 0, start = 0, end = 0;
};
// The whole schedule, when asked for.
struct StepTrace {
  Kernels kernels;
  std::vector<KernelRun> runs;         // by start
  std::vector<TransferRun> transfers;  // by start
  std::vector<int32_t> critical_path;  // kernels, first to last: each had to wait for the one before it
};

struct StepReport {
  double step_seconds = 0;
  bool valid = true;                 // false when a device runs out of memory: then the time means nothing
  std::vector<double> busy_seconds;  // [devices]: in kernels
  std::vector<double> link_seconds;  // [links]: carrying data
  std::vector<double> peak_bytes;    // [devices]
  double transferred_bytes = 0;
  int32_t kernels = 0;
};

// How a step runs. A device runs one kernel at a time, always the ready one with the highest priority, and never waits while
// one is ready. A finished result goes once to every other device that reads it, those with the most urgent reader first;
// a transfer occupies all links of its route from the moment all are free, in the order of requests. Memory of a device:
// inputs it reads (all the step), results from the start of the kernel that writes them to the end of the last kernel or
// transfer that reads them, copies from the request of the transfer to the end of their last reader, results of the program
// to the end.
// One object per thread: run() reuses its buffers. Keeps references to nothing.
class Simulator {
 public:
  // The graph must be sorted. Throws Error when it is not, when a cost factor is not positive, or when a topology has no
  // device.
  Simulator(TaskGraph graph, Topology topology, Costs costs = {}, FusionRules rules = {});
  ~Simulator();
  Simulator(Simulator&&) noexcept;
  Simulator& operator=(Simulator&&) noexcept;

  // Throws Error for a plan that does not fit (check_plan). `trace` may be null.
  StepReport run(const Plan& plan, StepTrace* trace = nullptr);

  const TaskGraph& graph() const;
  const Topology& topology() const;
  const FusionRules& rules() const;
  const Neighbours& consumers() const;
  const Neighbours& producers() const;
  // Of an operation as a kernel of its own on a device, launch included. For strategies that need estimates.
  double op_seconds(int32_t op, int32_t device) const;
  // What fusing an operation into all its consumers saves while nothing else is fused, in seconds; negative where it would
  // be computed too often. Nothing when it can never be fused away. The priority of XLA:GPU's PriorityFusion (field notes
  // 6.1) by this simulator's costs.
  std::optional<double> fusion_gain(int32_t op, int32_t device) const;

  struct State;  // of simulator.cc

 private:
  std::unique_ptr<State> state_;
};

// Throws Error (where = `what`) when inputs and results of the program alone are larger than all memories of the topology.
void check_memory(const TaskGraph& graph, const Topology& topology, const std::string& what);

}  // namespace hone::sim
