// One step of a planned graph: a queue of events over the devices and links (described in simulator.h).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/costs.h"
#include "sim/decisions.h"
#include "sim/step.h"
#include "sim/task_graph.h"
#include "sim/topology.h"

namespace hone::sim {

inline constexpr int32_t kNone = -1;

struct Event {
  double time = 0;
  int32_t kernel = kNone;    // the kernel that ends, or whose result has been transferred
  int32_t transfer = kNone;  // index into SimulatorState::copies; kNone for the end of a kernel
};

// The result of a kernel on a device that did not compute it.
struct Copy {
  int32_t kernel = 0, device = 0;
  int32_t readers = 0;   // kernels that have not finished
  int32_t next = kNone;  // copy of the same kernel
};

struct Kind {
  Device device;
  std::vector<double> solo;  // [ops]: roofline seconds times factor, launch excluded
};

// The graph on its topology, as simulator.cc prepares it once, and the buffers of a run.
struct SimulatorState {
  TaskGraph graph;
  Topology topology;
  Costs costs;
  FusionRules rules;
  FusionFacts facts;
  std::vector<Kind> kinds;        // distinct devices
  std::vector<int32_t> kind_of;   // [devices]
  std::vector<double> solo_read;  // [ops]
  Kernels unfused;                // used by most runs
  Neighbours unfused_readers;     // [kernels]: kernels that read its result

  // Buffers of one run, reused by the next.
  Kernels fused;
  Neighbours fused_readers;
  std::vector<int32_t> device, pending, references, first_copy, device_kernel, cause;
  std::vector<double> ready_at, started;
  std::vector<uint64_t> resident;  // [ops]: devices that hold an input
  std::vector<std::vector<uint64_t>> queue;
  std::vector<double> memory, link_free;
  std::vector<Event> events;
  std::vector<Copy> copies;
  std::vector<int32_t> idle_or_changed;

  double factor(int32_t op) const { return costs.factor.empty() ? 1.0 : costs.factor[op]; }

  // Time of one kernel, launch included.
  double kernel_seconds(const Kernels& kernels, int32_t k, const Kind& kind) const;
};

// `kernels` are those of the plan's fusion, `readers` the kernels that read each one's result. `trace` is empty or null.
StepReport run_step(SimulatorState& state, const Plan& plan, const Kernels& kernels, const Neighbours& readers,
                    StepTrace* trace);

}  // namespace hone::sim
