// Checks whether Hone works on this machine, with a hint for every check that is not ok. The checks are independent of each
// other, except that some need a worker.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/machine.h"
#include "features/machine_record.h"
#include "tune/session/session.h"

namespace hone::request {

enum class CheckStatus { Ok, Warning, Failed };
const char* check_status_name(CheckStatus status);  // "ok", "warning", "failed"

struct Check {
  std::string name;
  CheckStatus status = CheckStatus::Ok;
  std::string detail{};  // for people
  std::string hint{};    // what to do; empty if the check is ok
};

struct DoctorRequest {
  std::string database{};  // as database_path() takes it
  std::string models{};    // as cost::shipped_model() takes it
  wire::WorkerOptions worker{};
};

struct Diagnosis {
  Machine machine{};
  features::MachineRecord record{};         // of one thread, without a limit of the instruction set
  std::string xla_version{};                // of the worker; empty if it does not start
  std::optional<tune::Measurement> duel{};  // of a small program with itself
  std::vector<Check> checks{};

  bool failed() const;  // at least one check
};

// Runs all checks in a few seconds, with a worker of its own. Writes no files. Throws tune::Stopped after an interrupt.
Diagnosis diagnose(const DoctorRequest& request);

// Single checks, which need no worker.
Check cores_check(const Machine& machine);
Check memory_check(const Machine& machine);
Check instruction_set_check(const std::string& isa);  // a name of cpu_isa()
// What one core reads and computes: nothing to be wrong, but the record that models are told of.
Check speed_check(const MachineSpeed& speed);
// Whether choices without measuring are calibrated on this class of machines (features/machine_record.h).
Check gains_check(const std::string& models, const std::string& machine);
// Whether this machine has measured kernels that correct models (cost/run_time_model.h).
Check own_kernels_check(const std::string& database, const std::string& host);
// `duel` compares a program with itself: the true ratio is 1. `disturbed`: the share of the time in which others slow the core down.
Check timing_check(const tune::Measurement& duel, double disturbed = 0);
// Whether the shipped models are found and readable. Those in `models` may be networks, which need libhone_learn.so.
Check models_check(const std::string& models);
Check database_check(const std::string& given);

// The folder of Python packages (site-packages) from which the running worker has its XLA; empty if it cannot be told.
std::string folder_of_wheels();
// Checks of `site`, which folder_of_wheels() returned, and of the default folder of compiled code.
Check wheel_check(const std::string& site);
Check onednn_check(const std::string& site);
Check jax_check(const std::string& site);
Check cache_check(const std::string& folder);

}  // namespace hone::request
