#include "graph/run_slice.h"

#include <algorithm>
#include <set>

namespace hone {

std::vector<double> own_times(const std::vector<RunSlice>& slices) {
  std::vector<double> own;
  std::map<int, std::vector<size_t>> open;  // by thread: slices around the current one
  for (size_t i = 0; i < slices.size(); ++i) {
    const RunSlice& slice = slices[i];
    own.push_back(slice.duration_ns);
    std::vector<size_t>& around = open[slice.thread];
    while (!around.empty() && slices[around.back()].start_ns + slices[around.back()].duration_ns <= slice.start_ns)
      around.pop_back();
    if (!around.empty()) own[around.back()] -= slice.duration_ns;
    around.push_back(i);
  }
  return own;
}

std::map<std::string, double> time_by_instruction(const std::vector<RunSlice>& slices) {
  std::map<std::string, double> times;
  std::set<int> runs;
  const std::vector<double> own = own_times(slices);
  for (size_t i = 0; i < slices.size(); ++i) {
    runs.insert(slices[i].run);
    times[slices[i].name] += std::max(0.0, own[i]);
  }
  for (auto& [name, ns] : times) ns /= static_cast<double>(runs.size());
  return times;
}

}  // namespace hone
