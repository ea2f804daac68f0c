// Properties of the machine, as reported by Linux.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace hone {

struct Machine {
  std::string cpu = "unknown CPU";  // model of the first processor
  int logical_cores = 1;            // online processors
  int physical_cores = 1;           // distinct cores of these
  int usable_cores =
      1;  // processors in the affinity mask of this process, at most its control group's share, rounded up
  // Total and currently available memory, at most the limit of the control group (container); 0 = unknown.
  int64_t memory_bytes = 0, available_bytes = 0;
};

// "AMD EPYC 7B13, 8 cores", and under a limit of the instruction set ", at most avx2": what was measured under it is that of another
// machine. `cores`: logical ones.
std::string host_text(const std::string& cpu, int cores, const std::string& max_isa);
std::string this_host(const std::string& max_isa = "");

// Of the data cache of this level (1 to 3) that the first CPU uses, 0 = unknown. By sys/ below `root`, since sysconf() may count the
// caches of the whole socket in a virtual machine; without it, by sysconf().
int64_t data_cache_bytes(int level, const std::filesystem::path& root = "/");

// CPUs that this process may use, ascending.
std::vector<int> allowed_cpus();
// Those of `cpus` that share no core with the first one.
std::vector<int> spare_cpus(const std::vector<int>& cpus, const std::filesystem::path& root = "/");

// Read from proc/ and sys/ below `root`; missing values keep their defaults.
Machine this_machine(const std::filesystem::path& root = "/");

}  // namespace hone
