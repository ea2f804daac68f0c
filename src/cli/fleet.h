// hone tune on several machines: a Python program drives a Ray cluster and calls hone on its nodes (docs/decisions/0009).
#pragma once

#include <memory>
#include <set>
#include <string>

#include "cli/cli.h"

namespace hone::cli {

struct FleetOptions {
  std::string engine = "local";   // or "ray"
  std::string address;            // of the cluster; empty: a cluster of this machine alone
  std::set<std::string> kernels;  // fingerprints of the kernels that this node tunes
  const CLI::App* command = nullptr;

  bool elsewhere() const { return engine != "local"; }
};

// --engine, --address and --kernels. `app` must outlive the options.
std::shared_ptr<FleetOptions> add_fleet_options(CLI::App& app);

// Replaces this process by the Python program (python/hone/fleet), which tunes with the options given by the user.
// `program`, `database` and `output`: the command's values. Throws Error for options that are not valid on a fleet and
// RunError when Python cannot be started; does not return otherwise.
[[noreturn]] void tune_on_fleet(const FleetOptions& options, const std::string& program, const std::string& database,
                                const std::string& output, double budget_s);

}  // namespace hone::cli
