#include "kernels/phased_work.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "tests/kernels/in_threads.h"

namespace hone {
namespace {

constexpr int kPatience = 10;  // how often a unit lets others go first, so that they can do what they must not

// Runs phases and notes what goes wrong: units that are computed twice or never, or before what they need.
class Watched {
 public:
  Watched(int64_t first, std::vector<int64_t> phases, int64_t rounds) {
    work_ = {first, std::move(phases), rounds,
             [this](int64_t round, int64_t phase, int64_t unit, int worker) { compute(round, phase, unit, worker); }};
    before_.push_back(0);
    if (first > 0) add_phase(first);
    for (int64_t round = 0; round < rounds; ++round)
      for (const int64_t units : work_.phases) add_phase(units);
    computed_ = std::vector<std::atomic<int>>(before_.back());
  }

  // `meeting`: units of the first phase wait until so many threads compute one.
  void run(int threads, const ForEach& for_each, int meeting = 0) {
    meeting_ = meeting;
    run_in_phases(work_, threads, for_each);
  }

  bool all_once() const {
    return std::all_of(computed_.begin(), computed_.end(), [](const auto& count) { return count == 1; });
  }
  bool in_order() const { return in_order_; }
  int workers() const { return workers_; }

 private:
  void add_phase(int64_t units) { before_.push_back(before_.back() + units); }

  void compute(int64_t round, int64_t phase, int64_t unit, int worker) {
    const int64_t first = work_.first > 0 ? 1 : 0;
    const int64_t number = phase < 0 ? 0 : first + round * static_cast<int64_t>(work_.phases.size()) + phase;
    if (ended_ < before_[number]) in_order_ = false;
    if ((workers_met_.fetch_or(1 << worker) & 1 << worker) == 0) ++workers_;
    while (number == 0 && workers_ < meeting_) std::this_thread::yield();
    for (int i = 0; i < kPatience && meeting_ > 0 && unit == 0; ++i) std::this_thread::yield();
    ++computed_[before_[number] + unit];
    ++ended_;
  }

  PhasedWork work_;
  std::vector<int64_t> before_;  // units before each phase
  std::vector<std::atomic<int>> computed_;
  std::atomic<int64_t> ended_ = 0;
  std::atomic<int> workers_met_ = 0, workers_ = 0;
  std::atomic<bool> in_order_ = true;
  int meeting_ = 0;
};

}  // namespace

TEST_CASE("phases are in order, and each unit is computed once", "[kernels]") {
  for (const int64_t first : {0, 7})
    for (const int threads : {1, 2, 4}) {
      INFO(first << " units before, " << threads << " threads");
      Watched watched(first, {5, 4, 9}, 4);
      watched.run(threads, in_threads, /*meeting=*/threads);
      CHECK(watched.all_once());
      CHECK(watched.in_order());
      CHECK(watched.workers() == threads);
    }
}

TEST_CASE("threads that come late or never are not waited for", "[kernels]") {
  const ForEach orders[] = {
      [](size_t count, const std::function<void(size_t)>& work) {
        for (size_t i = 0; i < count; ++i) work(i);
      },
      [](size_t count, const std::function<void(size_t)>& work) {
        for (size_t i = count; i-- > 0;) work(i);
      },
      [](size_t, const std::function<void(size_t)>& work) { work(1); },
  };
  for (const ForEach& order : orders) {
    Watched watched(3, {1, 6}, 5);
    watched.run(4, order);
    CHECK(watched.all_once());
    CHECK(watched.in_order());
    CHECK(watched.workers() == 1);
  }
  Watched nothing(0, {2}, 0);
  nothing.run(2, in_threads);
  CHECK(nothing.workers() == 0);
}

TEST_CASE("a thread that comes in the middle computes what is left", "[kernels]") {
  // The second thread begins when the first one has computed some phases.
  std::atomic<int> computed = 0, late = 0;
  PhasedWork work{.first = 2, .phases = {2, 3}, .rounds = 50, .compute = {}};
  work.compute = [&](int64_t round, int64_t, int64_t, int worker) {
    ++computed;
    if (worker == 1) late = 1;
    while (round == 20 && worker == 0 && late == 0) std::this_thread::yield();
  };
  run_in_phases(work, 2, [&](size_t, const std::function<void(size_t)>& take_part) {
    std::thread first([&] { take_part(0); });
    while (computed < 40) std::this_thread::yield();
    take_part(1);
    first.join();
  });
  CHECK(computed == 2 + 50 * 5);
  CHECK(late == 1);
}

}  // namespace hone
