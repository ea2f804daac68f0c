// Compiles candidates that a search is likely to measure next, in a worker of its own on CPUs that measure nothing. Their code
// lies in the shared cache when the measuring worker compiles them.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "graph/decision.h"
#include "wire/client.h"

namespace hone::tune {

class Preparer {
 public:
  // `worker`: with the CPUs it may use and the cache's folder. `program`: as LoadRequest takes it. Nothing starts before the
  // first candidate is wanted.
  Preparer(wire::WorkerOptions worker, wire::TargetT target, std::string program, std::string name);
  // Ends within a second, whatever is being compiled.
  ~Preparer();
  Preparer(const Preparer&) = delete;

  // Candidates in the order of their likelihood; they replace those that wait. Those that were compiled are skipped.
  void want(const std::vector<Decisions>& candidates);
  int compiled() const;

 private:
  void work();
  void compile_all();
  Decisions next();

  const wire::WorkerOptions worker_options_;
  const wire::TargetT target_;
  const std::string program_, name_;
  mutable std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<Decisions> queue_;
  std::set<std::string> taken_;  // to_text()
  bool stop_ = false;
  int compiled_ = 0;
  std::thread thread_;
};

}  // namespace hone::tune
