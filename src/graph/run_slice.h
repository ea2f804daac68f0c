// Where the time of a run goes, instruction by instruction.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace hone {

// One instruction of one run. Loops and calls contain the instructions of their bodies.
struct RunSlice {
  std::string name;  // as in the lowered module
  int run = 0, thread = 0;
  double start_ns = 0, duration_ns = 0;  // from the beginning of the first run
};

// Time of each slice without the slices inside it; those of one thread nest and come by start.
std::vector<double> own_times(const std::vector<RunSlice>& slices);

// Nanoseconds of one run by instruction, without those inside it: the mean over the runs.
std::map<std::string, double> time_by_instruction(const std::vector<RunSlice>& slices);

}  // namespace hone
