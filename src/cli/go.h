// Parts of the graph policy's command that `hone place --strategy go` shares.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "options/go_train_options.h"
#include "sim/simulator.h"

namespace hone::cli {

struct GoPlaceOptions {
  std::string policy;  // safetensors; empty: the shipped one
  std::string online;  // file of a policy that is trained further while it is used, and of its best plans; empty = none
  int64_t samples = 16;  // variants simulated in every step of an evaluation; 0 = only the policy's own decisions
  options::GoTrainOptions
      training;  // before planning, by default without iterations; its seed and threads are always used
  std::vector<std::string> tasks;     // tasks of the policy to decide; empty = all
  bool finalists = false;             // the answer also has the best plans of different step times
  std::string parameters = "copied";  // sim::Parameters of the simulator
  std::string models;                 // folder that is searched first for the shipped policy

  GoPlaceOptions() { training.iterations = 0; }
};

// The plan found by the policy; `answer` has the details (go/go_place.h). Starts from the best
// of the quick baselines and never returns a worse plan. Throws Error for a policy that does not match, RunError
// for training without the learning library.
sim::Plan plan_with_policy(const sim::TaskGraph& graph, const sim::Topology& topology, const sim::Costs& costs,
                           const std::vector<int32_t>& xla_fusion, const GoPlaceOptions& options,
                           const OutputOptions& output, nlohmann::json* answer = nullptr);
// The policy in the folder `models`, or the one that comes with hone. Throws RunError when there is none.
std::string shipped_go_policy(const std::string& models);
// A file, or a preset that comes with hone. Throws Error that lists the presets.
sim::Topology load_devices(const std::string& name);
std::vector<std::string> device_presets();  // their names

// hone go fuse PROGRAM: the policy's fusion on the real compiler.
void declare_go_fuse(CLI::App& app, const std::shared_ptr<Runner>& chosen);

}  // namespace hone::cli
