#include "options/go_options.h"

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "options/option_json.h"

namespace hone::options {

namespace {

constexpr const char* kTaskNames[kGoTasks] = {"placement", "schedule", "fusion"};

void require_range(int64_t value, int64_t low, int64_t high, const char* option) {
  if (value < low || value > high)
    throw Error(std::string(option) + " must be " + std::to_string(low) + " to " + std::to_string(high),
                "policy options");
}

}  // namespace

const char* go_task_name(GoTask task) { return kTaskNames[static_cast<int>(task)]; }

GoTask go_task_from_name(const std::string& name) {
  for (int task = 0; task < kGoTasks; ++task)
    if (name == kTaskNames[task]) return static_cast<GoTask>(task);
  throw unknown_word("task", name, {"placement", "schedule", "fusion"}, "tasks");
}

int64_t GoOptions::actions(GoTask task) const {
  switch (task) {
    case GoTask::Placement:
      return devices;
    case GoTask::Schedule:
      return schedule_levels;
    case GoTask::Fusion:
      return fusion_levels;
  }
  throw InternalError("a task without actions");
}

std::vector<GoTask> GoOptions::task_list() const {
  std::vector<GoTask> list;
  for (const std::string& name : tasks) list.push_back(go_task_from_name(name));
  return list;
}

void GoOptions::validate() const {
  if (tasks.empty()) throw Error("there is no task to decide", "tasks", "placement, schedule, fusion");
  const std::vector<GoTask> list = task_list();
  for (size_t i = 0; i < list.size(); ++i)
    if (std::count(list.begin(), list.end(), list[i]) > 1) throw Error("a task is named twice: " + tasks[i], "tasks");
  require_range(devices, 1, 64, "devices");
  require_range(schedule_levels, 3, 99, "schedule_levels");
  if (schedule_levels % 2 == 0) throw Error("schedule_levels must be odd", "policy options");
  require_range(fusion_levels, 2, 100, "fusion_levels");
  require_range(hidden, 4, 4096, "hidden");
  require_range(heads, 1, hidden, "heads");
  if (hidden % heads != 0) throw Error("hidden must be a multiple of heads", "policy options");
  require_range(sage_layers, 0, 32, "sage_layers");
  require_range(attention_layers, 0, 32, "attention_layers");
  require_range(task_layers, 1, 8, "task_layers");
  require_range(segment, 1, 1 << 20, "segment");
  require_range(steps, 1, 64, "steps");
  if (!(stay > 0 && stay < 1)) throw Error("stay must be between 0 and 1", "policy options");
}

nlohmann::json to_json(const GoOptions& options) { return write_options(options); }

GoOptions go_options_from_json(const nlohmann::json& json) {
  GoOptions options;
  read_options(json, "policy", options);
  options.validate();
  return options;
}

}  // namespace hone::options
