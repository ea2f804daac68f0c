// Threads that wait for work awake while a program runs.
//
// XLA's pool lets a thread sleep microseconds after it has run out of work. The next kernel that is divided into parts then waits until a
// thread has woken, tens of microseconds, on virtual machines more: as long as many kernels take. And the thread that runs the program sleeps
// until the last part is done. Here both poll, for a bounded time, and the thread that runs the program computes parts while it waits.
//
// Linux may also wake a thread on the core of the thread that wakes it while another core is idle: on virtual machines, where a core that
// has halted does not count as available. The two then share a core for many runs. So a pool for all cores of the process has a thread
// bound to each, that of the core on which a program is run rests, and the thread that runs it stays there until it is done.
#pragma once

#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "unsupported/Eigen/CXX11/ThreadPool"

namespace hone::xla_side {

class ActivePool final : public Eigen::ThreadPoolInterface {
 public:
  // Of `threads` (at least 2) that compute at once, one is the caller of a Run. `cores`: a worker is bound to each, if there are as many as
  // threads; else workers run on any core.
  explicit ActivePool(int threads, const std::vector<int>& cores = {});
  ~ActivePool() override;
  ActivePool(const ActivePool&) = delete;
  ActivePool& operator=(const ActivePool&) = delete;

  void Schedule(std::function<void()> task) override;
  int NumThreads() const override { return threads_; }
  int CurrentThreadId() const override;
  // Ends the sleep of every caller.
  void wake();

  // On one thread. While there is one, idle threads poll. The tasks that are scheduled on its thread, or by its tasks, are its own.
  class Run {
   public:
    explicit Run(ActivePool& pool);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    // Runs tasks of this run, and of no other, on the calling thread until is_done(). Before the thread sleeps for the first time
    // `before_sleep` is called: it has to arrange that wake() is called as soon as is_done() is true.
    void help_until(const std::function<bool()>& is_done, const std::function<void()>& before_sleep) noexcept;

   private:
    ActivePool& pool_;
    uint64_t id_, before_;  // the thread's run before this one
    int core_ = -1;         // on which the thread stays, and whose worker rests; -1 = none
    bool bound_ = false;
    cpu_set_t allowed_;  // before it stayed there
  };

  int sleeping();               // workers that sleep, of NumThreads() where they are bound, else one less; for tests
  std::vector<int> computed();  // the cores of the bound workers that have run tasks so far; for tests

 private:
  struct Task {
    std::function<void()> work;
    uint64_t run = 0;
  };
  using Condition = std::function<bool()>;
  static constexpr uint64_t kAny = 0;

  struct Worker {
    int core = -1;          // that it is bound to
    bool sleeping = false;  // and not called yet
    std::atomic<bool> computed = false;
    uint64_t calls = 0;  // that end its sleep
    std::condition_variable called;
    std::thread thread;
  };

  void work(Worker& self, int id);
  void work_in_reserve();
  // With mutex_ held.
  bool pop(Task& task, uint64_t run);
  bool rests(const Worker& worker) const;  // a program is run by a thread of its core
  void call(Worker& worker);
  Worker* sleeper();  // one that may compute; null if there is none

  bool take(Task& task, uint64_t run);  // of this run, or of any
  // Looks for a task until there is one (true), `stop` is true, or the longest time of polling has passed. Workers are counted.
  bool poll(Task& task, uint64_t run, const Condition& stop);
  static void execute(Task& task);

  const int threads_;
  std::mutex mutex_;  // of what is below; of atomics for changes only
  std::deque<Task> tasks_;
  std::atomic<size_t> count_ = 0;    // of tasks_
  std::atomic<uint64_t> taken_ = 0;  // tasks so far
  int polling_ = 0;                  // workers
  uint64_t wakes_ = 0;               // that end sleeps of callers
  uint64_t last_run_ = 0;
  std::set<int> callers_;  // the cores that callers stay on
  bool reserve_idle_ = false;
  std::condition_variable woken_, reserve_;
  std::atomic<int> runs_ = 0;
  std::atomic<bool> ending_ = false;
  std::deque<Worker> workers_;
  std::thread in_reserve_;
};

}  // namespace hone::xla_side
