// What a step costs beside kernels and copies on devices that are threads of one process (HostThreads): beginning segments, waking up.
// The same segments as src/xla/measure/segments.h makes of the order in which kernels begin.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/topology.h"

namespace hone::sim {

class HostSegments {
 public:
  void clear(const HostThreads& threads, int32_t devices, int32_t kernels) {
    threads_ = threads;
    device_.assign(devices, {});
    of_.assign(kernels, kNothing);
    opened_.clear();
    closed_.clear();
    clock_ = 0;
  }
  // A kernel begins on `device` that reads the result of one of `from`, which has ended; once for each such kernel, then begin().
  void needed(int32_t kernel, int32_t from, int32_t device, double now) {
    const int32_t segment = of_[kernel];
    Device& receiver = device_[device];
    needed_.push_back(kernel);
    if (closed_[segment] == 0) {
      close(segment, device_[from]);
      senders_.push_back(from);
    }
    if (receiver.open != kNothing && closed_[segment] > opened_[receiver.open]) close(receiver.open, receiver);
    receiver.waited = receiver.waited || receiver.free_since < now;
  }
  // Seconds that the kernel takes longer.
  double begin(int32_t kernel, int32_t device) {
    for (const int32_t from : senders_) split(device_[from]);
    senders_.clear();
    needed_.clear();
    Device& here = device_[device];
    double seconds = here.owes + (here.waited ? threads_.wake_seconds : 0);
    if (here.open == kNothing) {
      open(here);
      seconds += threads_.segment_seconds;
    }
    of_[kernel] = here.open;
    here.last = kernel;
    here.owes = 0;
    here.waited = false;
    return seconds;
  }
  void end(int32_t device, double now) { device_[device].free_since = now; }

 private:
  static constexpr int32_t kNothing = -1;
  struct Device {
    int32_t open = kNothing, last = kNothing;  // the segment that grows; the kernel that began last
    double owes = 0, free_since = 0;           // owes: what the next kernel takes longer
    bool waited = false;
  };
  // What began last on a device whose segment has ended may still run: unless it is needed too, it is left to the next segment.
  void split(Device& sender) {
    if (std::find(needed_.begin(), needed_.end(), sender.last) != needed_.end()) return;
    of_[sender.last] = open(sender);
    sender.owes += threads_.segment_seconds;
  }
  int32_t open(Device& device) {
    opened_.push_back(++clock_);
    closed_.push_back(0);
    return device.open = static_cast<int32_t>(opened_.size()) - 1;
  }
  void close(int32_t segment, Device& device) {
    closed_[segment] = ++clock_;
    device.open = kNothing;
  }

  HostThreads threads_;
  std::vector<Device> device_;
  std::vector<int32_t> needed_, senders_;  // of the kernel that begins: what it reads, and whose segments it ended
  std::vector<int32_t> of_;                // [kernels]: the segment
  std::vector<int64_t> opened_, closed_;   // [segments]: when, in such events; 0 = not yet
  int64_t clock_ = 0;
};

}  // namespace hone::sim
