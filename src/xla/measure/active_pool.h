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
  // Ends all sleeps.
  void wake();

  // While there is one, idle threads poll.
  class Run {
   public:
    explicit Run(ActivePool& pool);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    // Runs tasks on the calling thread until is_done(). Before the thread sleeps for the first time `before_sleep` is called: it has to
    // arrange that wake() is called as soon as is_done() is true.
    void help_until(const std::function<bool()>& is_done, const std::function<void()>& before_sleep);

   private:
    ActivePool& pool_;
  };

 private:
  using Task = std::function<void()>;
  using Condition = std::function<bool()>;

  void work(int id);
  void work_in_reserve();
  bool take(Task& task);
  // Looks for a task until there is one (true), `stop` is true, or the longest time of polling has passed.
  bool poll(Task& task, const Condition& stop);
  // Returns when a task has come, after wake(), or if `stop` is true.
  void sleep(const Condition& stop);

  const int threads_;
  std::mutex mutex_;  // of what is below; of atomics for changes only
  std::deque<Task> tasks_;
  std::atomic<size_t> count_ = 0;    // of tasks_
  std::atomic<uint64_t> taken_ = 0;  // tasks so far
  int polling_ = 0, sleeping_ = 0;   // threads
  uint64_t wakes_ = 0;
  std::condition_variable woken_, reserve_;
  std::atomic<int> runs_ = 0;
  std::atomic<bool> ending_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace hone::xla_side
