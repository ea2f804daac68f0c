// What a graph policy answers, whoever evaluates it: go/go_network.h without torch, the learning library with it.
#pragma once

#include <array>
#include <vector>

#include "go/go_graph.h"
#include "options/go_options.h"

namespace hone::go {

struct TaskScores {
  int64_t choices = 0;           // 0 for a task that the policy does not decide
  std::vector<float> log_probs;  // [nodes, choices]
  bool decided() const { return choices > 0; }
};

struct GoScores {
  std::array<TaskScores, options::kGoTasks> tasks;
  std::vector<float> embedding;  // [nodes, hidden]: the state of the next step
};

class GoScorer {
 public:
  virtual ~GoScorer() = default;
  virtual const options::GoOptions& options() const = 0;
  // Throws Error when the topology has more devices than the policy supports.
  virtual GoScores scores(const GoGraph& graph, const GoState& state) = 0;
};

// Throws Error when the topology has more devices than the policy supports.
void require_devices(const options::GoOptions& options, const GoGraph& graph);

}  // namespace hone::go
