#include "base/machine.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace hone {

namespace fs = std::filesystem;

namespace {

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value of a line "name : value"; empty for other lines.
std::string value_of(const std::string& line, const std::string& name) {
  const size_t colon = line.find(':');
  if (colon == std::string::npos || line.compare(0, name.size(), name) != 0) return "";
  if (line.find_first_not_of(" \t", name.size()) != colon) return "";
  const size_t begin = line.find_first_not_of(" \t", colon + 1);
  return begin == std::string::npos ? "" : line.substr(begin);
}

// Threads of one core have the same list of siblings.
void read_cores(const fs::path& root, Machine& machine) {
  std::ifstream info(root / "proc/cpuinfo");
  std::set<std::string> cores;
  int processors = 0;
  for (std::string line; std::getline(info, line);) {
    if (const std::string model = value_of(line, "model name"); processors == 1 && !model.empty()) machine.cpu = model;
    const std::string number = value_of(line, "processor");
    if (number.empty()) continue;
    ++processors;
    const fs::path topology = root / "sys/devices/system/cpu" / ("cpu" + number) / "topology";
    const std::string siblings = first_line(topology / "thread_siblings_list");
    cores.insert(siblings.empty() ? "processor " + number : siblings);
  }
  machine.logical_cores = std::max(1, processors);
  machine.physical_cores = std::max(1, static_cast<int>(cores.size()));
}

void read_memory(const fs::path& root, Machine& machine) {
  constexpr int64_t kKibibyte = 1024;
  std::ifstream info(root / "proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    int64_t number = 0;
    if (std::istringstream(value_of(line, "MemTotal")) >> number) machine.memory_bytes = number * kKibibyte;
    if (std::istringstream(value_of(line, "MemAvailable")) >> number) machine.available_bytes = number * kKibibyte;
  }
  int64_t limit = 0;  // "max" without a limit
  if (!(std::istringstream(first_line(root / "sys/fs/cgroup/memory.max")) >> limit)) return;
  machine.memory_bytes = std::min(machine.memory_bytes, limit);
  machine.available_bytes = std::min(machine.available_bytes, limit);
}

}  // namespace

Machine this_machine(const fs::path& root) {
  Machine machine;
  read_cores(root, machine);
  read_memory(root, machine);
  machine.usable_cores = machine.logical_cores;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) machine.usable_cores = CPU_COUNT(&allowed);
  return machine;
}

}  // namespace hone
