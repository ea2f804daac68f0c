#include "base/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <thread>

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
std::string core_of(const fs::path& root, const std::string& processor) {
  const fs::path topology = root / "sys/devices/system/cpu" / ("cpu" + processor) / "topology";
  const std::string siblings = first_line(topology / "thread_siblings_list");
  return siblings.empty() ? "processor " + processor : siblings;
}

void read_cores(const fs::path& root, Machine& machine) {
  std::ifstream info(root / "proc/cpuinfo");
  std::set<std::string> cores;
  int processors = 0;
  for (std::string line; std::getline(info, line);) {
    if (const std::string model = value_of(line, "model name"); processors == 1 && !model.empty()) machine.cpu = model;
    const std::string number = value_of(line, "processor");
    if (number.empty()) continue;
    ++processors;
    cores.insert(core_of(root, number));
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

// Cores that the control group (container) may use, rounded up.
int cores_of_group(const fs::path& root) {
  double quota = 0, period = 0;                                        // microseconds
  const fs::path first = root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us";  // of the first version; -1 without a limit
  if (std::istringstream(first_line(root / "sys/fs/cgroup/cpu.max")) >> quota >>
      period) {  // "max 100000" without a limit
  } else if (!(std::istringstream(first_line(first)) >> quota) ||
             !(std::istringstream(first_line(first.parent_path() / "cpu.cfs_period_us")) >> period)) {
    return std::numeric_limits<int>::max();
  }
  if (quota <= 0 || period <= 0) return std::numeric_limits<int>::max();
  return std::max(1, static_cast<int>(std::ceil(quota / period)));
}

}  // namespace

int64_t data_cache_bytes(int level, const fs::path& root) {
  constexpr int kMostCaches = 8;
  const fs::path caches = root / "sys/devices/system/cpu/cpu0/cache";
  for (int i = 0; i < kMostCaches; ++i) {
    const fs::path cache = caches / ("index" + std::to_string(i));
    if (first_line(cache / "level") != std::to_string(level) || first_line(cache / "type") == "Instruction") continue;
    int64_t size = 0;
    char unit = ' ';
    std::istringstream(first_line(cache / "size")) >> size >> unit;
    return size << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
  }
  if (root != "/") return 0;
  const int name = level == 1 ? _SC_LEVEL1_DCACHE_SIZE : level == 2 ? _SC_LEVEL2_CACHE_SIZE : _SC_LEVEL3_CACHE_SIZE;
  return std::max<int64_t>(::sysconf(name), 0);
}

std::vector<int> allowed_cpus() {
  cpu_set_t allowed;
  std::vector<int> cpus;
  if (sched_getaffinity(::getpid(), sizeof allowed, &allowed) != 0) return cpus;  // of the main thread
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  return cpus;
}

std::vector<int> spare_cpus(const std::vector<int>& cpus, const fs::path& root) {
  std::vector<int> spare;
  for (const int cpu : cpus)
    if (core_of(root, std::to_string(cpu)) != core_of(root, std::to_string(cpus.front()))) spare.push_back(cpu);
  return spare;
}

std::string host_text(const std::string& cpu, int cores, const std::string& max_isa) {
  return fmt::format("{}, {} cores{}{}", cpu, cores, max_isa.empty() ? "" : ", at most ", max_isa);
}

std::string this_host(const std::string& max_isa) {
  return host_text(this_machine().cpu, static_cast<int>(std::thread::hardware_concurrency()), max_isa);
}

Machine this_machine(const fs::path& root) {
  Machine machine;
  read_cores(root, machine);
  read_memory(root, machine);
  machine.usable_cores = machine.logical_cores;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) machine.usable_cores = CPU_COUNT(&allowed);
  machine.usable_cores = std::min(machine.usable_cores, cores_of_group(root));
  return machine;
}

}  // namespace hone
