// Rows for tests of the database, and processes that write them.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "data/record.h"

namespace hone {

inline Record kernel_record(const std::string& kernel = "k1", const std::string& value = "tile=8,8",
                            double ratio = 1.25) {
  Record record;
  record.scope = "kernel";
  record.program = "p1";
  record.kernel = kernel;
  record.decisions = value;
  record.baseline_ns = 1000 * ratio;
  record.candidate_ns = 1000;
  record.ratio = ratio;
  record.ratio_low = ratio * 0.99;
  record.ratio_high = ratio * 1.01;
  record.rounds = 7;
  record.compile_ms = 33.5;
  record.verified = true;
  record.max_error = 1e-7;
  record.status = "ok";
  record.note = "it's \"fine\"";
  record.host = "cpu x 2";
  record.threads = 1;
  record.seed = 0xffffffffffffffffull;
  record.xla_version = "2.21.0";
  return record;
}

inline Record program_record(double ratio = 1.1) {
  Record record = kernel_record("", "kernel k1=tile=8,8", ratio);
  record.scope = "program";
  return record;
}

inline Record failed_record(const std::string& status) {
  Record record = kernel_record();
  record.status = status;
  record.verified = false;
  record.ratio = record.ratio_low = record.ratio_high = record.baseline_ns = record.candidate_ns = 0;
  record.rounds = 0;
  return record;
}

inline Tuned tuned_result() {
  Tuned tuned;
  tuned.program = "p1";
  tuned.host = "cpu x 2";
  tuned.weights = "0,3-9";
  tuned.xla_version = "2.21.0";
  tuned.options = "";
  tuned.decisions = R"({"kernel":{"k1":"tile=8,8"}})";
  tuned.default_ns = 2000;
  tuned.tuned_ns = 1000;
  tuned.speedup = 2;
  tuned.speedup_low = 1.9;
  tuned.speedup_high = 2.1;
  tuned.verified = true;
  tuned.candidates = 42;
  tuned.seconds = 59.5;
  tuned.seed = 3;
  return tuned;
}

// Runs `work` in a child process that exits without destructors; its exit code is 0 if nothing was thrown.
inline pid_t in_child(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    work();
  } catch (...) {
    _exit(1);
  }
  _exit(0);
}

inline int exit_code(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace hone
