#include "measure/active_pool.h"

#include <immintrin.h>
#include <sched.h>

#include <chrono>
#include <utility>

namespace hone::xla_side {
namespace {

using PollClock = std::chrono::steady_clock;

// Longer than most kernels of one part between two that are divided; a thread that has polled so long in vain sleeps.
constexpr auto kLongestPoll = std::chrono::microseconds(500);
constexpr int kPausesOfLook = 32;  // about a microsecond
constexpr int kLooksOfYield = 16;  // then others get the core if any of them waits for it
// How often the thread in reserve looks whether all others are blocked: while there is work, and otherwise.
constexpr auto kReservePause = std::chrono::milliseconds(2), kIdlePause = std::chrono::milliseconds(100);

thread_local const ActivePool* own_pool = nullptr;
thread_local int own_id = -1;

}  // namespace

ActivePool::ActivePool(int threads) : threads_(threads) {
  for (int id = 0; id < threads - 1; ++id) workers_.emplace_back([this, id] { work(id); });
  workers_.emplace_back([this] { work_in_reserve(); });
}

ActivePool::~ActivePool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    ++wakes_;
  }
  woken_.notify_all();
  reserve_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

int ActivePool::CurrentThreadId() const { return own_pool == this ? own_id : -1; }

void ActivePool::Schedule(Task task) {
  bool to_wake = false;
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    count_.store(tasks_.size(), std::memory_order_release);
    to_wake = sleeping_ > 0 && tasks_.size() > static_cast<size_t>(polling_);
    if (to_wake) ++wakes_;
  }
  if (to_wake) woken_.notify_one();
}

void ActivePool::wake() {
  {
    const std::lock_guard lock(mutex_);
    ++wakes_;
  }
  woken_.notify_all();
}

bool ActivePool::take(Task& task) {
  if (count_.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(mutex_);
  if (tasks_.empty()) return false;
  task = std::move(tasks_.front());
  tasks_.pop_front();
  count_.store(tasks_.size(), std::memory_order_release);
  taken_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool ActivePool::poll(Task& task, const Condition& stop) {
  if (take(task)) return true;
  {
    const std::lock_guard lock(mutex_);
    ++polling_;
  }
  bool found = false;
  const auto until = PollClock::now() + kLongestPoll;
  for (int look = 1; !stop(); ++look) {
    found = take(task);
    if (found || PollClock::now() > until) break;
    for (int i = 0; i < kPausesOfLook && count_.load(std::memory_order_relaxed) == 0; ++i) _mm_pause();
    if (look % kLooksOfYield == 0) sched_yield();
  }
  const std::lock_guard lock(mutex_);
  --polling_;
  return found;
}

void ActivePool::sleep(const Condition& stop) {
  std::unique_lock lock(mutex_);
  if (!tasks_.empty() || stop()) return;
  ++sleeping_;
  woken_.wait(lock, [&, before = wakes_] { return wakes_ != before; });
  --sleeping_;
}

void ActivePool::work(int id) {
  own_pool = this;
  own_id = id;
  const Condition no_run = [this] { return runs_.load(std::memory_order_relaxed) == 0 || ending_; };
  const Condition ending = [this] { return ending_.load(); };
  while (!ending_) {
    Task task;
    if (poll(task, no_run))
      task();
    else
      sleep(ending);
  }
}

// A library may block a thread until other tasks of its own are done. Where all threads are blocked so, this one runs what waits.
void ActivePool::work_in_reserve() {
  own_pool = this;
  own_id = threads_ - 1;
  uint64_t before = 0;
  auto pause = kIdlePause;
  while (!ending_) {
    {
      std::unique_lock lock(mutex_);
      reserve_.wait_for(lock, pause, [this] { return ending_.load(); });
    }
    const uint64_t now = taken_.load(std::memory_order_relaxed);
    const bool waiting = count_.load(std::memory_order_relaxed) > 0;
    Task task;
    if (waiting && now == before && take(task)) task();
    pause = waiting || now != before ? kReservePause : kIdlePause;
    before = now;
  }
}

ActivePool::Run::Run(ActivePool& pool) : pool_(pool) {
  bool to_wake = false;
  {
    const std::lock_guard lock(pool_.mutex_);
    ++pool_.runs_;
    to_wake = pool_.sleeping_ > 0;
    if (to_wake) ++pool_.wakes_;
  }
  if (to_wake) pool_.woken_.notify_all();
}

ActivePool::Run::~Run() {
  const std::lock_guard lock(pool_.mutex_);
  --pool_.runs_;
}

void ActivePool::Run::help_until(const Condition& is_done, const std::function<void()>& before_sleep) {
  bool told = false;
  while (!is_done()) {
    Task task;
    if (pool_.poll(task, is_done)) {
      task();
    } else if (!is_done()) {
      if (!std::exchange(told, true)) before_sleep();
      pool_.sleep(is_done);
    }
  }
}

}  // namespace hone::xla_side
