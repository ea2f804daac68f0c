// One step of a planned graph: a queue of events over the devices and links (described in simulator.h).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/costs.h"
#include "sim/decisions.h"
#include "sim/parameters.h"
#include "sim/segments.h"
#include "sim/step.h"
#include "sim/task_graph.h"
#include "sim/topology.h"

namespace hone::sim {

inline constexpr int32_t kNone = -1;

struct Event {
  double time = 0;
  int32_t kernel = kNone;    // the kernel that ends, or whose result has been transferred; kNone for a parameter
  int32_t transfer = kNone;  // index into SimulatorState::copies or fetches; kNone for the end of a kernel
};

// The result of a kernel on a device that did not compute it.
struct Copy {
  int32_t kernel = 0, device = 0;
  int32_t readers = 0;   // kernels that have not finished
  int32_t next = kNone;  // copy of the same kernel
  bool made = false;     // by the receiver (HostThreads)
};

struct Kind {
  Device device;
  std::vector<double> solo;     // [ops]: roofline seconds times factor, launch excluded
  std::vector<double> compute;  // [ops]: seconds of computing alone, of one evaluation
};

// The graph on its topology, as simulator.cc prepares it once, and the buffers of a run.
struct SimulatorState {
  TaskGraph graph;
  Topology topology;
  Costs costs;
  FusionRules rules;
  Parameters parameters = Parameters::Copied;
  FusionFacts facts;
  std::vector<int32_t> updates;                   // [ops]: parameter_updates()
  std::vector<Kind> kinds;                        // distinct devices
  std::vector<int32_t> kind_of;                   // [devices]
  std::vector<double> solo_read;                  // [ops]
  std::vector<double> result_bytes, written;      // [ops]: output_bytes, written_bytes(), side by side for speed
  std::vector<double> latency, bytes_per_second;  // [devices * devices]: of a transfer over idle links
  std::vector<uint8_t> is_output;                 // [ops]
  Kernels unfused;                                // used by most runs
  Neighbours unfused_readers;                     // [kernels]: kernels that read its result

  // Buffers of one run, reused by the next.
  Kernels fused;
  Neighbours fused_readers;
  std::vector<int32_t> device, pending, references, first_copy, device_kernel, cause;
  std::vector<double> ready_at, started, seconds, rest;  // rest [kernels]: least time from a kernel's start to the end
  std::vector<uint64_t> resident;                        // [ops]: devices that hold an input
  std::vector<std::vector<uint64_t>> queue;
  std::vector<double> memory, link_free;
  std::vector<Event> events;
  std::vector<Copy> copies;
  Fetches fetches;
  std::vector<int32_t> idle_or_changed;
  HostSegments segments;  // where devices are threads

  double factor(int32_t op) const { return costs.factor.empty() ? 1.0 : costs.factor[op]; }

  double transfer_seconds(int32_t from, int32_t to, double bytes) const {
    const size_t pair = static_cast<size_t>(from) * kind_of.size() + static_cast<size_t>(to);
    return latency[pair] + bytes / bytes_per_second[pair];
  }

  // Time of one kernel, launch included.
  double kernel_seconds(const Kernels& kernels, int32_t k, const Kind& kind) const;
};

// What one step runs: the kernels of the plan's fusion, and the kernels that read each one's result.
struct StepInput {
  const Plan& plan;
  const Kernels& kernels;
  const Neighbours& readers;
};

// `trace` is empty or null. Gives up beyond the limit (Simulator::run_within).
StepReport run_step(SimulatorState& state, const StepInput& input, const StepLimit& limit, StepTrace* trace);

}  // namespace hone::sim
