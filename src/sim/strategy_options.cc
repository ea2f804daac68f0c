#include "sim/strategy_options.h"

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"

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
      throw unknown_word("task", word, {"placement", "fusion", "schedule"}, "--tasks");
    begin = end + 1;
  }
  return tasks;
}

}  // namespace hone::sim
