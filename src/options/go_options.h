// Options of a graph policy: plain data without torch, stored in policy files as JSON. Defaults that the rebuttal of GO does
// not specify are explained in docs/decisions/0010-graph-policy.md.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "options/option_list.h"

namespace hone::options {

enum class GoTask : int8_t { Placement = 0, Schedule, Fusion };
inline constexpr int kGoTasks = 3;
const char* go_task_name(GoTask task);              // "placement", "schedule", "fusion"
GoTask go_task_from_name(const std::string& name);  // throws Error that lists the names

struct GoOptions {
  std::vector<std::string> tasks = {"placement", "schedule", "fusion"};  // decided jointly, in this order of the heads
  int64_t devices = 8;                                                   // at most; with fewer, the others are masked
  int64_t schedule_levels = 9;                                           // odd: the middle level is neutral
  int64_t fusion_levels = 8;  // F: level 0 is never fused; the others order the traversal
  int64_t hidden = 48, heads = 4;
  int64_t sage_layers = 3, attention_layers = 2, task_layers = 1;
  int64_t segment = 128;  // nodes of one segment of the recurrent attention
  int64_t steps = 4;      // T: refinement steps of one evaluation
  double stay = 0.7;      // initial probability of keeping the previous decision; learned
  // Ablations.
  bool modulation = true;     // features scaled by the pooled graph embedding before every attention layer
  bool recurrence = true;     // a segment attends to the previous one
  bool task_residual = true;  // a task's head reads the output of the previous task
  bool refinement = true;     // decisions and state of the previous step are inputs
  bool device_scores = true;  // placement reads every device's load and proximity

  int64_t actions(GoTask task) const;
  std::vector<GoTask> task_list() const;
  void validate() const;  // throws Error that names the option
};

template <class Visit>
void for_each_option(ListOf<GoOptions>, Visit&& visit) {
  using O = GoOptions;
  visit({"tasks", "tasks the policy decides, separated by commas (default placement,schedule,fusion)"}, &O::tasks);
  visit({"devices", "devices of the largest topology the policy is for", "--max-devices"}, &O::devices);
  visit({"schedule_levels", "number of scheduling priorities, odd"}, &O::schedule_levels);
  visit({"fusion_levels", "number of fusion priorities; priority 0 is never fused"}, &O::fusion_levels);
  visit({"hidden", "width of node embeddings"}, &O::hidden);
  visit({"heads", "number of attention heads"}, &O::heads);
  visit({"sage_layers", "number of layers of the graph network"}, &O::sage_layers);
  visit({"attention_layers", "number of attention layers that all tasks share"}, &O::attention_layers);
  visit({"task_layers", "number of layers of each task's head"}, &O::task_layers);
  visit({"segment", "nodes of one segment of the recurrent attention"}, &O::segment);
  visit({"steps", "refinements of one evaluation"}, &O::steps);
  visit({"stay", "probability, before training, of keeping what was decided before"}, &O::stay);
  visit({"modulation", "ablation: layers do not see the pooled graph", "--no-modulation", true}, &O::modulation);
  visit({"recurrence", "ablation: segments do not see the one before", "--no-recurrence", true}, &O::recurrence);
  visit({"task_residual", "ablation: tasks do not see each other's heads", "--no-task-residual", true},
        &O::task_residual);
  visit({"refinement", "ablation: one step that sees nothing decided before", "--no-refinement", true}, &O::refinement);
  visit({"device_scores", "ablation: placement does not see loads and neighbours", "--no-device-scores", true},
        &O::device_scores);
}

nlohmann::json to_json(const GoOptions& options);
GoOptions go_options_from_json(const nlohmann::json& json);  // throws Error for unknown or ill-typed members

}  // namespace hone::options
