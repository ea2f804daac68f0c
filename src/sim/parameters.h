// Where the parameters of a program live, and how they get to the devices that read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/decisions.h"
#include "sim/task_graph.h"

namespace hone::sim {

enum class Parameters : int8_t {
  Copied = 0,  // on every device that reads them, from the beginning
  Home,        // on one device; others receive them over the links, once each
};
Parameters parameters_from_name(const std::string& name);  // "copied" or "home"; throws Error for others

// [ops]: the operation that writes a parameter's new value, and with which it therefore lives: the nearest result of the program
// with the parameter's dimensions and bytes that elementwise operations alone compute from it, as an optimizer does. kNoUpdate
// for parameters without one, kNoParameter for all other operations; constants need no transfer and are not parameters.
inline constexpr int32_t kNoUpdate = -1, kNoParameter = -2;
std::vector<int32_t> parameter_updates(const TaskGraph& graph);

// One parameter on its way to one device; its readers there are reader[begin] .. reader[end - 1] (kernels).
struct Fetch {
  int32_t op = 0, from = 0, to = 0, begin = 0, end = 0;
};
struct Fetches {
  std::vector<int32_t> home;  // [ops]: device of a parameter that is read or updated, else -1
  std::vector<Fetch> list;    // in the order of their first readers
  std::vector<int32_t> reader;
};
// `device`: of each kernel. A parameter's home is the device of its update, or else of its first reader.
Fetches parameter_fetches(const std::vector<int32_t>& updates, const Kernels& kernels,
                          const std::vector<int32_t>& device);

}  // namespace hone::sim
