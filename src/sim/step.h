// The result of one simulated step of a program: its time and, on request, its schedule.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/decisions.h"

namespace hone::sim {

struct KernelRun {
  int32_t kernel = 0, device = 0;  // kernel: index into StepTrace::kernels
  double start = 0, end = 0;       // seconds
};
struct TransferRun {
  int32_t op = 0, from = 0, to = 0;  // whose result, between which devices
  double bytes = 0, start = 0, end = 0;
};
// The whole schedule.
struct StepTrace {
  Kernels kernels;
  std::vector<KernelRun> runs;         // by start
  std::vector<TransferRun> transfers;  // by start
  std::vector<int32_t> critical_path;  // kernels, first to last: each had to wait for the one before it
};

struct StepReport {
  double step_seconds = 0;
  bool valid = true;                 // false if a device runs out of memory; the time is then meaningless
  std::vector<double> busy_seconds;  // [devices]: in kernels
  std::vector<double> link_seconds;  // [links]: carrying data
  std::vector<double> peak_bytes;    // [devices]
  double transferred_bytes = 0;
  int32_t kernels = 0;
};

// When to give up on a plan.
struct StepLimit {
  double seconds = std::numeric_limits<double>::infinity();
  bool must_fit = false;  // when a device runs out of memory
};

}  // namespace hone::sim
