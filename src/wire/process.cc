#include "wire/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace hone::wire {
namespace {

constexpr int kWorkerFd = 3;
constexpr size_t kTailBytes = 16 << 10;

// Without these the first executable of a process runs up to 2.4 times slower: malloc returns its pages to the system
// and faults them in again at every run.
constexpr const char* kEnvironment[] = {"MALLOC_MMAP_THRESHOLD_=1073741824", "MALLOC_TRIM_THRESHOLD_=8589934592",
                                        "MALLOC_TOP_PAD_=268435456", "TF_CPP_MIN_LOG_LEVEL=3"};

// What the child needs between fork and exec, where memory must not be allocated.
struct Launch {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int socket, errors, report;  // report: closed by exec, or receives the error
  pid_t parent;
  rlim_t address_space_bytes;  // RLIM_INFINITY = as inherited
  const cpu_set_t* cpus;       // null = as inherited
};

struct LaunchFailure {
  char step[32];
  int error;
};

[[noreturn]] void give_up(int report, const char* step) {
  LaunchFailure failure{};
  failure.error = errno;
  std::strncpy(failure.step, step, sizeof failure.step - 1);
  if (::write(report, &failure, sizeof failure) < 0) ::_exit(126);
  ::_exit(127);
}

[[noreturn]] void become_worker(const Launch& launch) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launch.parent) ::_exit(127);  // the parent ended before prctl
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  // Move everything out of the way of descriptors 0 to 3 before filling them.
  const int socket = ::fcntl(launch.socket, F_DUPFD, kWorkerFd + 1);
  const int errors = ::fcntl(launch.errors, F_DUPFD, kWorkerFd + 1);
  const int report = ::fcntl(launch.report, F_DUPFD_CLOEXEC, kWorkerFd + 1);
  const int null = ::open("/dev/null", O_RDONLY);
  if (socket < 0 || errors < 0 || report < 0 || null < 0) give_up(launch.report, "descriptors");
  if (::dup2(null, 0) < 0 || ::dup2(errors, 1) < 0 || ::dup2(errors, 2) < 0 || ::dup2(socket, kWorkerFd) < 0)
    give_up(report, "descriptors");
  ::close_range(kWorkerFd + 1, ~0u, CLOSE_RANGE_CLOEXEC);

  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const rlimit address_space{launch.address_space_bytes, launch.address_space_bytes};
  if (launch.address_space_bytes != RLIM_INFINITY && ::setrlimit(RLIMIT_AS, &address_space) != 0)
    give_up(report, "memory limit");
  if (launch.cpus && ::sched_setaffinity(0, sizeof *launch.cpus, launch.cpus) != 0) give_up(report, "CPU pinning");
  ::execve(launch.program, launch.arguments, launch.environment);
  give_up(report, "start of the program");
}

// The inherited variables, then the fixed settings, then the caller's: the last value of a name counts.
std::vector<std::string> merged_environment(const std::vector<std::string>& extra) {
  std::map<std::string, std::string> by_name;
  const auto add = [&](const std::string& setting) { by_name[setting.substr(0, setting.find('='))] = setting; };
  for (char** setting = environ; *setting; ++setting) add(*setting);
  for (const char* setting : kEnvironment) add(setting);
  for (const std::string& setting : extra) add(setting);
  std::vector<std::string> result;
  for (auto& [name, setting] : by_name) result.push_back(std::move(setting));
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

cpu_set_t cpu_set(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu < 0 || cpu >= CPU_SETSIZE) throw Error(fmt::format("there is no CPU {}", cpu), "cpus", "see nproc");
    CPU_SET(cpu, &set);
  }
  return set;
}

struct Fd {
  int value = -1;
  ~Fd() { reset(); }
  void reset() {
    if (value >= 0) ::close(std::exchange(value, -1));
  }
  int release() { return std::exchange(value, -1); }
};

[[noreturn]] void throw_no_start(const std::string& program, const std::string& step, int error) {
  throw RunError(fmt::format("the worker cannot be started ({}): {}", step, std::generic_category().message(error)),
                 program, "check the limits on processes, open files and memory");
}

}  // namespace

int64_t idle_address_space_bytes() {
  constexpr int64_t kMiB = int64_t{1} << 20;
  return 2048 * kMiB + 72 * kMiB * std::max<int64_t>(1, ::sysconf(_SC_NPROCESSORS_ONLN));
}

ChildProcess::ChildProcess(const ProcessOptions& options) {
  // A worker that dies during a write must fail one request, not end this process.
  std::signal(SIGPIPE, SIG_IGN);
  int sockets[2], errors[2], reports[2];
  Fd ours, theirs, error_reader, error_writer, report_reader, report_writer;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    throw_no_start(options.program, "socket", errno);
  ours.value = sockets[0], theirs.value = sockets[1];
  if (::pipe2(errors, O_CLOEXEC) != 0) throw_no_start(options.program, "pipe", errno);
  error_reader.value = errors[0], error_writer.value = errors[1];
  if (::pipe2(reports, O_CLOEXEC) != 0) throw_no_start(options.program, "pipe", errno);
  report_reader.value = reports[0], report_writer.value = reports[1];
  ::fcntl(error_reader.value, F_SETFL, O_NONBLOCK);

  std::vector<std::string> arguments = {options.program};
  arguments.insert(arguments.end(), options.before.begin(), options.before.end());
  arguments.insert(arguments.end(), {"--fd", std::to_string(kWorkerFd)});
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::string> environment = merged_environment(options.environment);
  const std::vector<char*> argument_pointers = pointers(arguments), environment_pointers = pointers(environment);
  const cpu_set_t cpus = cpu_set(options.cpus);
  const Launch launch{options.program.c_str(),
                      argument_pointers.data(),
                      environment_pointers.data(),
                      theirs.value,
                      error_writer.value,
                      report_writer.value,
                      ::getpid(),
                      options.memory_limit_bytes > 0
                          ? static_cast<rlim_t>(options.memory_limit_bytes + idle_address_space_bytes())
                          : RLIM_INFINITY,
                      options.cpus.empty() ? nullptr : &cpus};
  const pid_t pid = ::fork();
  if (pid == 0) become_worker(launch);
  if (pid < 0) throw_no_start(options.program, "fork", errno);
  ::setpgid(pid, pid);  // the child does the same; either may be first
  report_writer.reset();
  LaunchFailure failure{};
  ssize_t got;
  while ((got = ::read(report_reader.value, &failure, sizeof failure)) < 0 && errno == EINTR) continue;
  if (got > 0) {
    ::waitpid(pid, nullptr, 0);
    throw_no_start(options.program, failure.step, failure.error);
  }
  pid_ = pid;
  socket_ = ours.release();
  errors_ = error_reader.release();
}

ChildProcess::~ChildProcess() {
  kill_and_reap();
  ::close(socket_);
  if (errors_ >= 0) ::close(errors_);
}

void ChildProcess::drain_errors() {
  char buffer[4096];
  while (errors_ >= 0) {
    const ssize_t got = ::read(errors_, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    if (got == 0) {
      ::close(std::exchange(errors_, -1));
      return;
    }
    tail_.append(buffer, static_cast<size_t>(got));
    if (tail_.size() > 2 * kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
  }
}

void ChildProcess::forget_errors() {
  drain_errors();
  tail_.clear();
}

bool ChildProcess::has_exited() {
  if (!reaped_) reaped_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
  return reaped_;
}

int ChildProcess::reap(double patience_s) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(patience_s);
  while (!has_exited()) {
    if (Clock::now() >= end) {
      kill_and_reap();
      drain_errors();
      return -1;
    }
    // A process that is ending may still be writing: keep its pipe from filling up.
    pollfd errors{errors_, POLLIN, 0};
    ::poll(&errors, 1, 1);
    drain_errors();
  }
  drain_errors();
  return status_;
}

void ChildProcess::kill_and_reap() {
  if (reaped_) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) continue;
  reaped_ = true;
}

}  // namespace hone::wire
