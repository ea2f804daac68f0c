#include "sim/strategy_options.h"

#include <algorithm>

#include "base/error.h"

namespace hone::sim {

Tasks parse_tasks(const std::string& text) {
  Tasks tasks{false, false, false};
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (word == "placement")
      tasks.placement = true;
    else if (word == "fusion")
      tasks.fusion = true;
    else if (word == "schedule")
      tasks.schedule = true;
    else
      throw Error("unknown task '" + word + "'", "--tasks", "placement, fusion and schedule, separated by commas");
    begin = end + 1;
  }
  return tasks;
}

}  // namespace hone::sim
