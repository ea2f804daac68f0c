#include "measure/active_pool.h"

#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "measure/xla_arithmetic.h"

namespace hone::xla_side {
namespace {

using PollClock = std::chrono::steady_clock;

// Longer than most kernels of one part between two that are divided; a thread that has polled so long in vain sleeps.
constexpr auto kLongestPoll = std::chrono::microseconds(500);
constexpr int kPausesOfLook = 32;  // about a microsecond
constexpr int kLooksOfYield = 16;  // then others get the core if any of them waits for it
// How often the thread in reserve looks whether all others are blocked, and after how many looks without a run it sleeps.
constexpr auto kReservePause = std::chrono::milliseconds(20);
constexpr int kIdleLooks = 5;

thread_local const ActivePool* own_pool = nullptr;
thread_local int own_id = -1;
thread_local uint64_t current_run = 0;

// The calling thread. False for no core, and one that the process has not; then it runs on any.
bool bind_to(int core) {
  if (core < 0 || core >= CPU_SETSIZE) return false;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

// Some sandboxes refuse it.
bool may_bind() {
  cpu_set_t allowed;
  return sched_getcpu() >= 0 && sched_getaffinity(0, sizeof allowed, &allowed) == 0 &&
         sched_setaffinity(0, sizeof allowed, &allowed) == 0;
}

bool is_bound_to(int core) {
  cpu_set_t now;
  return sched_getaffinity(0, sizeof now, &now) == 0 && CPU_COUNT(&now) == 1 && CPU_ISSET(core, &now);
}

}  // namespace

ActivePool::ActivePool(int threads, const std::vector<int>& cores) : threads_(threads) {
  const bool bound = static_cast<int>(cores.size()) == threads && may_bind();
  for (int id = 0; id < (bound ? threads : threads - 1); ++id) workers_.emplace_back().core = bound ? cores[id] : -1;
  for (int id = 0; Worker& worker : workers_)
    worker.thread = std::thread([this, &worker, id = id++] { work(worker, id); });
  in_reserve_ = std::thread([this] { work_in_reserve(); });
}

ActivePool::~ActivePool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  reserve_.notify_all();
  for (Worker& worker : workers_) worker.called.notify_all();
  for (Worker& worker : workers_) worker.thread.join();
  in_reserve_.join();
}

int ActivePool::CurrentThreadId() const { return own_pool == this ? own_id : -1; }

int ActivePool::sleeping() {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::count_if(workers_.begin(), workers_.end(), [](const Worker& w) { return w.sleeping; }));
}

std::vector<int> ActivePool::computed() {
  const std::lock_guard lock(mutex_);
  std::vector<int> cores;
  for (const Worker& worker : workers_)
    if (worker.computed) cores.push_back(worker.core);
  return cores;
}

bool ActivePool::rests(const Worker& worker) const { return worker.core >= 0 && callers_.contains(worker.core); }

void ActivePool::call(Worker& worker) {
  worker.sleeping = false;
  ++worker.calls;
  worker.called.notify_one();
}

ActivePool::Worker* ActivePool::sleeper() {
  const auto found =
      std::find_if(workers_.begin(), workers_.end(), [&](const Worker& w) { return w.sleeping && !rests(w); });
  return found == workers_.end() ? nullptr : &*found;
}

void ActivePool::Schedule(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back({std::move(work), current_run});
  count_.store(tasks_.size(), std::memory_order_release);
  if (tasks_.size() <= static_cast<size_t>(polling_)) return;
  if (Worker* const worker = sleeper()) call(*worker);
}

void ActivePool::wake() {
  {
    const std::lock_guard lock(mutex_);
    ++wakes_;
  }
  woken_.notify_all();
}

bool ActivePool::pop(Task& task, uint64_t run) {
  const auto first = std::find_if(tasks_.begin(), tasks_.end(),
                                  [&](const Task& waiting) { return run == kAny || waiting.run == run; });
  if (first == tasks_.end()) return false;
  task = std::move(*first);
  tasks_.erase(first);
  count_.store(tasks_.size(), std::memory_order_release);
  taken_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool ActivePool::take(Task& task, uint64_t run) {
  if (count_.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(mutex_);
  return pop(task, run);
}

bool ActivePool::poll(Task& task, uint64_t run, const Condition& stop) {
  const int counted = run == kAny ? 1 : 0;
  {
    const std::lock_guard lock(mutex_);
    if (pop(task, run)) return true;
    polling_ += counted;
  }
  const auto until = PollClock::now() + kLongestPoll;
  for (int look = 1; !stop() && PollClock::now() < until; ++look) {
    if (count_.load(std::memory_order_acquire) > 0) {
      const std::lock_guard lock(mutex_);
      if (pop(task, run)) {
        polling_ -= counted;  // at once, so that who schedules next does not count on this thread
        return true;
      }
    }
    for (int i = 0; i < kPausesOfLook && count_.load(std::memory_order_relaxed) == 0; ++i) _mm_pause();
    if (look % kLooksOfYield == 0) sched_yield();
  }
  const std::lock_guard lock(mutex_);
  polling_ -= counted;
  return false;
}

void ActivePool::execute(Task& task) {
  const uint64_t before = std::exchange(current_run, task.run);
  task.work();
  current_run = before;
}

void ActivePool::work(Worker& self, int id) {
  own_pool = this;
  own_id = id;
  set_xla_arithmetic();
  bind_to(self.core);
  const Condition no_run = [this] { return runs_.load(std::memory_order_relaxed) == 0 || ending_; };
  while (!ending_) {
    Task task;
    bool resting = false;
    {
      const std::lock_guard lock(mutex_);
      resting = rests(self);
    }
    if (!resting && poll(task, kAny, no_run)) {
      self.computed = true;
      execute(task);
      continue;
    }
    std::unique_lock lock(mutex_);
    if (!tasks_.empty() && !rests(self)) continue;
    self.sleeping = true;
    self.called.wait(lock, [&, before = self.calls] { return self.calls != before || ending_; });
    self.sleeping = false;
  }
}

// A library may block a thread until other tasks of its own are done. Where all threads are blocked so, this one runs what waits.
void ActivePool::work_in_reserve() {
  own_pool = this;
  own_id = workers_.front().core < 0 ? threads_ - 1 : -1;  // bound workers have all numbers
  set_xla_arithmetic();
  uint64_t before = 0;
  for (int idle = 0; !ending_;) {
    {
      std::unique_lock lock(mutex_);
      reserve_idle_ = idle >= kIdleLooks;
      const auto wanted = [this] { return ending_ || !reserve_idle_; };
      if (reserve_idle_)
        reserve_.wait(lock, wanted);
      else
        reserve_.wait_for(lock, kReservePause, [this] { return ending_.load(); });
    }
    const uint64_t now = taken_.load(std::memory_order_relaxed);
    const bool waiting = count_.load(std::memory_order_relaxed) > 0;
    idle = waiting || now != before || runs_ > 0 ? 0 : idle + 1;
    Task task;
    if (waiting && now == before && take(task, kAny)) execute(task);
    before = now;
  }
}

ActivePool::Run::Run(ActivePool& pool) : pool_(pool), before_(current_run) {
  // A thread that runs a program within a run stays where it is. Two callers are not bound to one core.
  const int here = before_ == kAny && pool.workers_.front().core >= 0 ? sched_getcpu() : -1;
  {
    const std::lock_guard lock(pool_.mutex_);
    if (here >= 0 && pool_.callers_.insert(here).second) core_ = here;
    ++pool_.runs_;
    current_run = id_ = ++pool_.last_run_;
    while (Worker* const worker = pool_.sleeper()) pool_.call(*worker);
    if (std::exchange(pool_.reserve_idle_, false)) pool_.reserve_.notify_one();
  }
  if (core_ >= 0) bound_ = sched_getaffinity(0, sizeof allowed_, &allowed_) == 0 && bind_to(core_);
}

ActivePool::Run::~Run() {
  current_run = before_;
  {
    const std::lock_guard lock(pool_.mutex_);
    --pool_.runs_;
    if (core_ >= 0) pool_.callers_.erase(core_);
    Worker* const worker = pool_.tasks_.empty() ? nullptr : pool_.sleeper();  // of other callers
    if (worker != nullptr) pool_.call(*worker);
  }
  if (bound_ && is_bound_to(core_)) sched_setaffinity(0, sizeof allowed_, &allowed_);
}

void ActivePool::Run::help_until(const Condition& is_done, const std::function<void()>& before_sleep) noexcept {
  bool told = false;
  while (!is_done()) {
    Task task;
    if (pool_.poll(task, id_, is_done)) {
      execute(task);
    } else if (!is_done()) {
      if (!std::exchange(told, true)) before_sleep();
      std::unique_lock lock(pool_.mutex_);
      if (!is_done()) pool_.woken_.wait(lock, [&, before = pool_.wakes_] { return pool_.wakes_ != before; });
    }
  }
}

}  // namespace hone::xla_side
