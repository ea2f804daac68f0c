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
  std::set<std::string> kernels;  // fingerprints: what one node is asked to tune
  const CLI::App* command = nullptr;

  bool elsewhere() const { return engine != "local"; }
};

// --engine, --address and --kernels. `app` must outlive the options.
std::shared_ptr<FleetOptions> add_fleet_options(CLI::App& app);

// Replaces this process by the Python program (python/hone/fleet), which tunes with the options the user gave. `program`,
// `database` and `output` as the command understood them. Throws Error for options that make no sense on a fleet and
// RunError when there is no Python to run it; does not return otherwise.
[[noreturn]] void tune_on_fleet(const FleetOptions& options, const std::string& program, const std::string& database,
                                const std::string& output, double budget_s);

}  // namespace hone::cli
