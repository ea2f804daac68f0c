// What one core does in a nanosecond, measured by small loops: the part of a machine's record that no file of the system tells.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/isa.h"

namespace hone {

// 0 = not measured.
struct MachineSpeed {
  // Bytes read in a nanosecond from arrays that fit the caches of level 1 to 3, and from one that fits none.
  double read_l1 = 0, read_l2 = 0, read_l3 = 0, read_memory = 0;
  double flops = 0;  // f32 multiplications and additions in a nanosecond, by fused instructions where there are any
  double clock = 0;  // additions of integers in a nanosecond, each of the last result: about the frequency in GHz
  bool operator==(const MachineSpeed&) const = default;
};

struct CacheSizes {
  int64_t l1 = 0, l2 = 0, l3 = 0;  // bytes; 0 = unknown, then its level is not measured
};

// By the widest vectors of `isa`, a name of isa.h that this CPU has. Takes about half a second, and memory of twice the last cache, at
// most 256 MiB. Of each loop the fastest of several runs counts, so that what else the machine does disturbs little.
MachineSpeed measure_machine_speed(const std::string& isa, const CacheSizes& caches);

// {"read_l1": 180.2, ...}; what is missing in the object is 0. Throws Error for a value that is no number or below 0.
nlohmann::json to_json(const MachineSpeed& speed);
MachineSpeed machine_speed_from_json(const nlohmann::json& json);

}  // namespace hone
