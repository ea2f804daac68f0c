// A child process at the other end of a socket pair.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::wire {

// Memory limits are added to this. RLIMIT_AS counts address space, used or not: an idle worker of one thread maps
// about 1 GiB, and the stack and malloc arena of each further thread (one per core at most) reserve 72 MiB.
int64_t idle_address_space_bytes();

struct ProcessOptions {
  std::string program;                   // path
  int64_t memory_limit_bytes = 0;        // RLIMIT_AS = this + idle_address_space_bytes(); 0 = no limit
  std::vector<int> cpus;                 // CPUs it may use; empty = as inherited
  std::vector<std::string> arguments;    // after --fd 3
  std::vector<std::string> environment;  // NAME=VALUE, added to the inherited ones and to settings of malloc
  std::vector<std::string> before = {};  // arguments before --fd 3, as of an interpreter
};

// Runs `program --fd 3 ARGUMENTS` with one end of the socket pair as descriptor 3, in its own process group (Ctrl-C at the
// terminal does not reach it), without core files. It is killed when the thread that started it ends (PDEATHSIG).
class ChildProcess {
 public:
  explicit ChildProcess(const ProcessOptions& options);  // throws RunError
  ~ChildProcess();                                       // kills and reaps
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int pid() const { return pid_; }
  int socket() const { return socket_; }
  int errors() const { return errors_; }  // to poll for standard output and error; -1 once closed by the child

  // Reads the available standard error without waiting, and keeps its last 16 KiB.
  void drain_errors();
  void forget_errors();
  const std::string& errors_tail() const { return tail_; }

  bool has_exited();
  // Waits for the process to end, at most this long; then kills it. Returns waitpid's status, or -1 if killed here.
  int reap(double patience_s);

 private:
  void kill_and_reap();
  int pid_ = -1, socket_ = -1, errors_ = -1, status_ = 0;
  bool reaped_ = false;
  std::string tail_;
};

// The most informative line of a crashed program's standard error (failed check, exception, LLVM error; else the last line),
// at most 300 bytes; empty if there is none.
std::string last_words(std::string_view errors);

}  // namespace hone::wire
