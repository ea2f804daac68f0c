// The machine a program is placed on: devices with memory and speed, links between them. Read from TOML.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hone::sim {

struct Device {
  std::string name;
  double memory_bytes = 0;
  double matrix_flops = 0;        // per second, of dots and convolutions
  double vector_flops = 0;        // per second, of all other arithmetic
  double special_per_second = 0;  // results of exp, tanh, ... per second
  double bytes_per_second = 0;    // of its memory
  double launch_seconds = 0;      // added to every kernel
  // Share of the shorter of computing and moving data that overlaps with the longer: XLA:GPU's constant, 0.95
  // (xla/service/gpu/model/gpu_performance_model_base.h).
  double overlap = 0.95;
  bool operator==(const Device&) const = default;
};

// Carries one transfer at a time.
struct Link {
  std::string name;
  double bytes_per_second = 0;
  double latency_seconds = 0;
};

// Devices that are threads of one process (`hone place --run`): each runs its operations in segments, and a segment begins where a value
// of another device is waited for, or after one that another device needs. The receiver copies, before the segment, and computes nothing
// meanwhile.
struct HostThreads {
  double segment_seconds = 0;  // of a segment, beside its kernels
  double wake_seconds = 0;     // until a device that waits for a value goes on
};

struct Topology {
  std::string name;
  std::optional<HostThreads> threads;
  std::vector<Device> devices;               // at least one
  std::vector<Link> links;                   // the two directions of a wire are separate links unless shared
  std::vector<std::vector<int32_t>> routes;  // [from * devices + to]: links in order; empty on the diagonal

  int32_t size() const { return static_cast<int32_t>(devices.size()); }
  std::span<const int32_t> route(int32_t from, int32_t to) const {
    return routes[static_cast<size_t>(from) * devices.size() + static_cast<size_t>(to)];
  }
  // Time of a transfer over idle links: the latencies of the route plus the time on its slowest link. 0 if from == to.
  double transfer_seconds(int32_t from, int32_t to, double bytes) const;
  double memory_bytes() const;  // of all devices
};

// The format: docs/howto/place-a-program.md. `what` is the file's name in errors. Throws Error (where = file, line and key)
// for text that is not TOML, unknown or missing keys, values of the wrong type, speeds and memories that are not positive,
// topologies without devices, duplicate or unknown names, and devices without a route between them.
Topology parse_topology(const std::string& toml, const std::string& what);
// A path, or the name of a preset ("gpu4-nvlink") among the project's own files: `presets`/NAME.toml.
Topology load_topology(const std::string& path, const std::string& presets);

}  // namespace hone::sim
