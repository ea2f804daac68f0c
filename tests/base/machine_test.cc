#include "base/machine.h"

#include <catch2/catch.hpp>

#include "base/files.h"

namespace hone {

namespace {

void put(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  write_file(path.string(), text);
}

}  // namespace

TEST_CASE("the machine is read from proc and sys", "[base]") {
  const TempDir root;
  std::string cpuinfo;
  for (int processor = 0; processor < 4; ++processor) {
    cpuinfo += "processor\t: " + std::to_string(processor) + "\nmodel\t\t: 85\nmodel name\t: A CPU: fast\n\n";
    put(root.path() / "sys/devices/system/cpu" / ("cpu" + std::to_string(processor)) / "topology/thread_siblings_list",
        processor % 2 == 0 ? "0,2\n" : "1,3\n");
  }
  put(root.path() / "proc/cpuinfo", cpuinfo);
  put(root.path() / "proc/meminfo", "MemTotal:       8000 kB\nMemFree:  10 kB\nMemAvailable:   5000 kB\n");
  Machine machine = this_machine(root.path());
  CHECK(machine.cpu == "A CPU: fast");
  CHECK(machine.logical_cores == 4);
  CHECK(machine.physical_cores == 2);
  CHECK(machine.usable_cores >= 1);
  CHECK(machine.memory_bytes == 8000 * 1024);
  CHECK(machine.available_bytes == 5000 * 1024);

  put(root.path() / "sys/fs/cgroup/memory.max", "max\n");
  CHECK(this_machine(root.path()).memory_bytes == 8000 * 1024);
  put(root.path() / "sys/fs/cgroup/memory.max", "1048576\n");
  machine = this_machine(root.path());
  CHECK(machine.memory_bytes == 1048576);
  CHECK(machine.available_bytes == 1048576);
}

TEST_CASE("usable cores are at most those of the control group, rounded up", "[base]") {
  const TempDir root;
  const int all = this_machine(root.path()).usable_cores;
  const auto with = [&](const char* file, const std::string& text) {
    put(root.path() / "sys/fs/cgroup" / file, text);
    return this_machine(root.path()).usable_cores;
  };
  CHECK(with("cpu/cpu.cfs_quota_us", "-1\n") == all);
  CHECK(with("cpu/cpu.cfs_period_us", "100000\n") == all);
  CHECK(with("cpu/cpu.cfs_quota_us", "50000\n") == 1);
  CHECK(with("cpu.max", "max 100000\n") == 1);  // both versions: what limits
  CHECK(with("cpu/cpu.cfs_quota_us", "-1\n") == all);
  CHECK(with("cpu.max", "20000 100000\n") == 1);
  CHECK(with("cpu.max", std::to_string(100000 * all - 1) + " 100000\n") == all);
  CHECK(with("cpu.max", "nonsense\n") == all);
}

TEST_CASE("spare CPUs share no core with the one that measures", "[base]") {
  const TempDir root;
  for (int cpu = 0; cpu < 6; ++cpu)
    put(root.path() / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "topology/thread_siblings_list",
        std::to_string(cpu % 3) + "," + std::to_string(cpu % 3 + 3) + "\n");
  CHECK(spare_cpus({0, 1, 2, 3, 4, 5}, root.path()) == std::vector<int>{1, 2, 4, 5});
  CHECK(spare_cpus({1, 4}, root.path()).empty());
  CHECK(spare_cpus({4}, root.path()).empty());
  CHECK(spare_cpus({}, root.path()).empty());
  CHECK(spare_cpus({7, 8}, root.path()) == std::vector<int>{8});  // nothing is known about them
  CHECK_FALSE(allowed_cpus().empty());
}

TEST_CASE("missing files mean one core and unknown memory", "[base]") {
  const TempDir empty;
  const Machine machine = this_machine(empty.path());
  CHECK(machine.cpu == "unknown CPU");
  CHECK(machine.logical_cores == 1);
  CHECK(machine.physical_cores == 1);
  CHECK(machine.memory_bytes == 0);
  CHECK(machine.available_bytes == 0);
}

TEST_CASE("this machine has cores and memory", "[base]") {
  const Machine machine = this_machine();
  CHECK(machine.physical_cores >= 1);
  CHECK(machine.logical_cores >= machine.physical_cores);
  CHECK(machine.memory_bytes > 0);
  CHECK(machine.available_bytes <= machine.memory_bytes);
}

TEST_CASE("caches are read from sys, those of instructions apart", "[base]") {
  const TempDir root;
  const auto cache = root.path() / "sys/devices/system/cpu/cpu0/cache";
  const auto put_cache = [&](const char* index, const char* level, const char* type, const char* size) {
    put(cache / index / "level", level);
    put(cache / index / "type", type);
    put(cache / index / "size", size);
  };
  put_cache("index0", "1\n", "Instruction\n", "64K\n");
  put_cache("index1", "1\n", "Data\n", "32K\n");
  put_cache("index2", "2\n", "Unified\n", "1M\n");
  CHECK(data_cache_bytes(1, root.path()) == 32 * 1024);
  CHECK(data_cache_bytes(2, root.path()) == 1024 * 1024);
  CHECK(data_cache_bytes(3, root.path()) == 0);
}

}  // namespace hone
