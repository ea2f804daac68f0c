// The pool by itself: it needs only Eigen's interface of thread pools.
#include "measure/active_pool.h"

#include <sched.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "base/machine.h"
#include "tests/skip.h"

namespace hone::xla_side {
namespace {

// Counts tasks, and wakes the caller after the last one.
struct Work {
  explicit Work(ActivePool& pool) : pool(pool) {}
  void schedule(int count, const std::function<void()>& each) {
    left += count;
    for (int i = 0; i < count; ++i)
      pool.Schedule([this, each] {
        each();
        if (--left == 0 && asleep) pool.wake();
      });
  }
  bool is_done() const { return left == 0; }
  void before_sleep() {
    asleep = true;
    if (left == 0) pool.wake();
  }
  void help(ActivePool::Run& run) {
    run.help_until([this] { return is_done(); }, [this] { before_sleep(); });
  }

  ActivePool& pool;
  std::atomic<int> left = 0;
  std::atomic<bool> asleep = false;
};

// The calling thread runs on one core while there is one of these.
class OnCore {
 public:
  explicit OnCore(int core) {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OnCore() { sched_setaffinity(0, sizeof before_, &before_); }
  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;

 private:
  cpu_set_t before_;
};

bool within(std::chrono::milliseconds limit, const std::function<bool()>& is_so) {
  for (const auto end = std::chrono::steady_clock::now() + limit; std::chrono::steady_clock::now() < end;) {
    if (is_so()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

constexpr auto kLimit = std::chrono::seconds(20);

// 200 runs of five tasks each.
void run_rounds(ActivePool& pool, std::atomic<int>& ran) {
  for (int round = 0; round < 200; ++round) {
    ActivePool::Run run(pool);
    Work work(pool);
    work.schedule(5, [&] { ++ran; });
    work.help(run);
  }
}

}  // namespace

TEST_CASE("an active pool runs every task once, from several callers", "[pool]") {
  ActivePool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> ran = 0;
  for (int c = 0; c < 4; ++c) callers.emplace_back([&] { run_rounds(pool, ran); });
  for (std::thread& caller : callers) caller.join();
  CHECK(ran == 4 * 200 * 5);
}

TEST_CASE("a caller sleeps until a long task of a worker is done", "[pool]") {
  ActivePool pool(2);
  ActivePool::Run run(pool);
  Work work(pool);
  std::atomic<bool> taken = false;
  work.schedule(1, [&] {
    taken = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // longer than threads poll
  });
  REQUIRE(within(kLimit, [&] { return taken.load(); }));
  work.help(run);
  CHECK(work.is_done());
}

TEST_CASE("a caller computes nothing of another caller's run", "[pool]") {
  ActivePool pool(2);
  std::latch begun(1), scheduled(1), end(1);
  std::atomic<bool> foreign = false;
  std::thread other([&] {
    ActivePool::Run run(pool);
    Work work(pool);
    work.schedule(1, [&] { begun.count_down(), end.wait(); });  // the only worker is busy with this
    begun.wait();
    work.schedule(1, [&] { foreign = foreign || pool.CurrentThreadId() < 0; });
    scheduled.count_down();
    end.wait();
    while (!work.is_done()) std::this_thread::yield();
  });
  scheduled.wait();
  {
    ActivePool::Run run(pool);
    Work work(pool);
    std::atomic<int> mine = 0;
    work.schedule(3, [&] { mine += pool.CurrentThreadId() < 0 ? 1 : 0; });
    work.help(run);
    CHECK(mine >= 1);  // the thread in reserve may have taken some
  }
  end.count_down();
  other.join();
  CHECK(!foreign);
}

TEST_CASE("workers sleep when no program runs", "[pool]") {
  ActivePool pool(3);
  {
    ActivePool::Run run(pool);
    Work work(pool);
    work.schedule(8, [] {});
    work.help(run);
  }
  CHECK(within(kLimit, [&] { return pool.sleeping() == 2; }));
}

TEST_CASE("a worker bound to the caller's core rests", "[pool]") {
  const std::vector<int> cores = allowed_cpus();
  if (cores.size() < 2) return skip_case("one core");
  const OnCore here(cores[1]);
  ActivePool pool(2, {cores[0], cores[1]});
  for (int round = 0; round < 50; ++round) {
    ActivePool::Run run(pool);
    Work work(pool);
    work.schedule(8, [] { std::this_thread::sleep_for(std::chrono::microseconds(200)); });
    work.help(run);
  }
  CHECK(pool.computed() == std::vector<int>{cores[0]});
  CHECK(allowed_cpus() == std::vector<int>{cores[1]});
  CHECK(within(kLimit, [&] { return pool.sleeping() == 2; }));
}

TEST_CASE("a caller stays on its core until its run ends", "[pool]") {
  const std::vector<int> cores = allowed_cpus();
  if (cores.size() < 2) return skip_case("one core");
  ActivePool pool(2, {cores[0], cores[1]});
  {
    const ActivePool::Run run(pool);
    CHECK(allowed_cpus() == std::vector<int>{sched_getcpu()});
    const ActivePool::Run inner(pool);
  }
  CHECK(allowed_cpus() == cores);
}

TEST_CASE("callers on all cores compute by themselves", "[pool]") {
  const std::vector<int> cores = allowed_cpus();
  if (cores.size() < 2) return skip_case("one core");
  ActivePool pool(2, {cores[0], cores[1]});
  std::atomic<int> ran = 0;
  std::vector<std::thread> callers;
  for (const int core : {cores[0], cores[1], cores[0]})
    callers.emplace_back([&, core] {
      const OnCore here(core);
      run_rounds(pool, ran);
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(ran == 3 * 200 * 5);
  CHECK(within(kLimit, [&] { return pool.sleeping() == 2; }));
}

TEST_CASE("the thread in reserve runs what blocked threads wait for", "[pool]") {
  ActivePool pool(2);
  ActivePool::Run run(pool);
  std::latch inner(1);
  Work work(pool);
  work.schedule(1, [&] {
    pool.Schedule([&] { inner.count_down(); });
    inner.wait();  // blocks the only worker, as a library would
  });
  CHECK(within(kLimit, [&] { return work.is_done(); }));
}

TEST_CASE("threads of an active pool flush denormal numbers, as those of XLA's do", "[pool]") {
  ActivePool pool(2);
  ActivePool::Run run(pool);
  std::atomic<bool> done = false;
  volatile float tiny = 1e-39f, result = 1;
  pool.Schedule([&] { result = tiny + tiny, done = true; });
  REQUIRE(within(kLimit, [&] { return done.load(); }));
  CHECK(result == 0.0f);
}

}  // namespace hone::xla_side
