// Threads that wait for work awake while a program runs.
//
// XLA's pool lets a thread sleep microseconds after it has run out of work. The next kernel that is divided into parts then waits until a
// thread has woken, tens of microseconds, on virtual machines more: as long as many kernels take. And the thread that runs the program sleeps
// until the last part is done. Here both poll, for a bounded time, and the thread that runs the program computes parts while it waits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "unsupported/Eigen/CXX11/ThreadPool"

namespace hone::xla_side {

class ActivePool final : public Eigen::ThreadPoolInterface {
 public:
  // Of `threads` (at least 2) that compute at once, one is the caller of a Run.
  explicit ActivePool(int threads);
  ~ActivePool() override;
  ActivePool(const ActivePool&) = delete;
  ActivePool& operator=(const ActivePool&) = delete;

  void Schedule(std::function<void()> task) override;
  int NumThreads() const override { return threads_; }
  int CurrentThreadId() const override;
  // Ends the sleep of every caller.
  void wake();

  // While there is one, idle threads poll. The tasks that are scheduled on its thread, or by its tasks, are its own.
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
  };

  int sleeping();  // workers that sleep, of NumThreads() - 1; for tests

 private:
  struct Task {
    std::function<void()> work;
    uint64_t run = 0;
  };
  using Condition = std::function<bool()>;
  static constexpr uint64_t kAny = 0;

  void work(int id);
  void work_in_reserve();
  bool pop(Task& task, uint64_t run);   // with mutex_ held
  bool take(Task& task, uint64_t run);  // of this run, or of any
  // Looks for a task until there is one (true), `stop` is true, or the longest time of polling has passed. Workers are counted.
  bool poll(Task& task, uint64_t run, const Condition& stop);
  static void execute(Task& task);

  const int threads_;
  std::mutex mutex_;  // of what is below; of atomics for changes only
  std::deque<Task> tasks_;
  std::atomic<size_t> count_ = 0;    // of tasks_
  std::atomic<uint64_t> taken_ = 0;  // tasks so far
  int polling_ = 0, sleeping_ = 0;   // workers
  uint64_t calls_ = 0, wakes_ = 0;   // that end sleeps of workers, and of callers
  uint64_t last_run_ = 0;
  bool reserve_idle_ = false;
  std::condition_variable called_, woken_, reserve_;
  std::atomic<int> runs_ = 0;
  std::atomic<bool> ending_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace hone::xla_side
