#include "base/core_probe.h"

#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

namespace hone {

namespace {

constexpr int kProbeSteps = 8000;
constexpr int kProbeChains = 6;  // independent ones: as many instructions at a time as a core can begin

volatile uint64_t probed;  // what the loop computes, so that it is run

double thread_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

}  // namespace

double core_probe_ns() {
  uint64_t values[kProbeChains];
  for (int c = 0; c < kProbeChains; ++c) values[c] = c + 1;
  const double start = thread_ns();
  for (int step = 0; step < kProbeSteps; ++step)
#pragma GCC unroll 6
    for (int c = 0; c < kProbeChains; ++c) {
      values[c] = (values[c] ^ (values[c] >> 7)) + 11;
      __asm__ volatile("" : "+r"(values[c]));  // one number at a time, without vectors
    }
  const double took = thread_ns() - start;
  for (uint64_t value : values) probed = probed + value;
  return took;
}

void CoreBest::note(double core_ns) {
  constexpr int kMostDisturbed = 30;
  const bool slower = ns_ > 0 && core_ns > kDisturbed * ns_;
  disturbed_ = slower ? disturbed_ + 1 : 0;
  if (ns_ > 0 && core_ns >= ns_ && disturbed_ < kMostDisturbed) return;
  ns_ = core_ns;
  disturbed_ = 0;
}

double stolen_ms(int cpu) {
  std::ifstream stat("/proc/stat");
  const std::string wanted = "cpu" + std::to_string(cpu);
  for (std::string line; std::getline(stat, line);) {
    std::istringstream words(line);
    std::string name;
    double ticks = 0;
    words >> name;
    if (name != wanted) continue;
    for (int column = 0; column < 8 && words >> ticks; ++column) {
    }
    return words ? 1e3 * ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) : 0;
  }
  return 0;
}

}  // namespace hone
