// Clocks, in seconds unless their names say otherwise.
#pragma once

#include <chrono>
#include <ctime>

namespace hone {

inline double steady_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
inline double seconds_since(double start_s) { return steady_s() - start_s; }  // start_s: a result of steady_s()
inline double ms_since(double start_s) { return 1e3 * seconds_since(start_s); }
// Since 1970.
inline double wall_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}
// Processor time of this process, all threads.
inline double cpu_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace hone
