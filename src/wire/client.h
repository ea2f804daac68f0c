// The main process's side of a worker: start, call with a time limit, restart after a crash.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/stage.h"
#include "graph/decision.h"
#include "wire/hone_generated.h"

namespace hone::wire {

struct WorkerOptions {
  std::string program;                   // path of hone-xla; empty = beside the running executable
  double timeout_s = 120;                // for one call, unless the call says otherwise
  int64_t memory_limit_bytes = 0;        // RLIMIT_AS headroom above idle_address_space_bytes(); 0 = none
  std::vector<int> cpus;                 // CPUs the worker may use; empty = as inherited
  std::vector<std::string> environment;  // extra NAME=VALUE
  // No worker compiles a kernel twice; workers that share a folder (ObjectStore) do not compile what another has. Off:
  // everything is compiled.
  bool cache_code = true;
  std::string cache_folder;  // empty = none
  std::string
      self_test_folder;  // of this machine, where it is kept that a self-test was passed; empty = in cache_folder
  int64_t cache_limit_bytes = 0;  // of the folder; 0 = ObjectStore's own
};

// The worker died, hung or ran out of memory. The next call starts a new worker. Killed: by a signal from outside (the
// kernel's out-of-memory killer or a user), so the same request may succeed if repeated.
class WorkerFailure : public RunError {
 public:
  enum class Kind { Crashed, TimedOut, OutOfMemory, Killed };
  WorkerFailure(Kind kind, const std::string& message) : RunError(message), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

// The worker program itself does not start, for example because a shared library is missing. Repeating does not help.
class NoWorker : public RunError {
 public:
  using RunError::RunError;
};

// One worker process. Not thread-safe. Starting is lazy; a dead worker is replaced at the next call, and the Load and
// Inputs requests that succeeded before are replayed into it when a request first needs their program. The first call
// of a process gets 10 s more than its limit, for loading XLA. The process dies with the thread that started it
// (PDEATHSIG): use a worker from a thread that outlives it, else it is started again.
class Worker {
 public:
  explicit Worker(WorkerOptions options);
  ~Worker();  // kills and reaps
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;

  // Sends one request and waits for its reply of the matching type. Throws Error (bad input), RunError (the request
  // failed in a healthy worker; StageError if the stage is known), NoWorker, or WorkerFailure with last_words() of the
  // worker's standard error. timeout_s 0 = that of the options; on_wait's function can end the wait early by throwing.
  template <class ReplyBodyT, class RequestBodyT>
  ReplyBodyT call(RequestBodyT request, double timeout_s = 0) {
    RequestT message;
    message.body.Set(std::move(request));
    ReplyT reply = exchange(std::move(message), timeout_s);
    auto* body = static_cast<ReplyBodyT*>(reply.body.value);
    if (reply.body.type != ReplyBodyUnionTraits<ReplyBodyT>::enum_value || body == nullptr)
      throw WorkerFailure(WorkerFailure::Kind::Crashed, "the worker sent a reply of another type");
    return std::move(*body);
  }

  void kill();           // ends the process now; the next call starts another
  int pid() const;       // -1 when none runs
  int restarts() const;  // processes started after the first
  void on_wait(std::function<void()>
                   poll);  // called about 10 times a second while waiting; may throw to give up (kills the worker)

 private:
  ReplyT exchange(RequestT request, double timeout_s);
  struct Process;
  std::unique_ptr<Process> process_;
};

// Conversions between the plain types and those of hone.fbs. Values outside the enums throw InternalError.
Stage to_wire(hone::Stage stage);
hone::Stage from_wire(Stage stage);
// The verdict on a candidate that failed at this stage: CompileFailed or RunFailed.
Verdict verdict_of(hone::Stage stage);
DecisionT to_wire(const hone::Decision& decision);
hone::Decision from_wire(const DecisionT& decision);
hone::Dimension from_wire(const DimensionT& dimension);
std::vector<std::unique_ptr<DecisionT>> to_wire(const Decisions& decisions);
Decisions from_wire(const std::vector<std::unique_ptr<DecisionT>>& decisions);

// Blocking framed I/O on a file descriptor, for both sides. At most 3 GiB per message; false at end of file or error.
bool write_frame(int fd, const uint8_t* data, size_t size);
bool read_frame(int fd, std::vector<uint8_t>& data);

}  // namespace hone::wire
