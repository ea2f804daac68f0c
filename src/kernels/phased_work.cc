#include "kernels/phased_work.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

namespace hone {
namespace {

constexpr int kSpins = 2000;  // some tens of microseconds: about a step of a large cell

void pause() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

struct alignas(64) Unit {
  std::atomic<int64_t> next_phase = 0;  // the first that nobody has begun this unit in
};

class Team {
 public:
  Team(const PhasedWork& work, int threads) : work_(work), threads_(threads) {
    int64_t most = work.first;
    for (const int64_t units : work.phases) {
      before_.push_back(round_);
      round_ += units;
      most = std::max(most, units);
    }
    units_ = std::make_unique<Unit[]>(most);
  }

  void take_part(int worker) {
    const auto phases = static_cast<int64_t>(work_.phases.size()), last = work_.rounds * phases;
    for (int64_t phase = phase_now(); phase < last; ++phase) {
      const int64_t round = phase < 0 ? 0 : phase / phases, at = phase < 0 ? -1 : phase % phases;
      wait_for(phase < 0 ? 0 : work_.first + round * round_ + before_[at]);
      const int64_t units = phase < 0 ? work_.first : work_.phases[at];
      int64_t computed = 0;
      // Each thread begins with units of its own, whose weights its cache holds.
      for (int64_t k = 0; k < units; ++k) {
        const int64_t unit = (worker * units / threads_ + k) % units;
        if (!takes(unit, phase)) continue;
        work_.compute(round, at, unit, worker);
        ++computed;
      }
      if (computed > 0) done_.fetch_add(computed, std::memory_order_acq_rel);
    }
  }

 private:
  // The phase that is being computed, or an earlier one.
  int64_t phase_now() const {
    const int64_t done = done_.load(std::memory_order_acquire);
    if (done < work_.first) return -1;
    const auto phases = static_cast<int64_t>(work_.phases.size());
    return (done - work_.first) / round_ * phases;
  }

  bool takes(int64_t unit, int64_t phase) {
    std::atomic<int64_t>& next = units_[unit].next_phase;
    int64_t now = next.load(std::memory_order_relaxed);
    while (now <= phase + 1)  // the phase before all rounds has the number -1
      if (next.compare_exchange_weak(now, phase + 2, std::memory_order_relaxed)) return true;
    return false;
  }

  void wait_for(int64_t units) const {
    for (int spins = 0; done_.load(std::memory_order_acquire) < units; ++spins)
      spins < kSpins ? pause() : std::this_thread::yield();
  }

  const PhasedWork& work_;
  const int threads_;
  std::vector<int64_t> before_;  // units of a round before each phase
  int64_t round_ = 0;            // units of a round
  std::unique_ptr<Unit[]> units_;
  alignas(64) std::atomic<int64_t> done_ = 0;
};

void run_alone(const PhasedWork& work) {
  for (int64_t unit = 0; unit < work.first; ++unit) work.compute(0, -1, unit, 0);
  for (int64_t round = 0; round < work.rounds; ++round)
    for (size_t phase = 0; phase < work.phases.size(); ++phase)
      for (int64_t unit = 0; unit < work.phases[phase]; ++unit)
        work.compute(round, static_cast<int64_t>(phase), unit, 0);
}

}  // namespace

void run_in_phases(const PhasedWork& work, int threads, const ForEach& for_each) {
  if (threads <= 1 || !for_each) return run_alone(work);
  Team team(work, threads);
  for_each(threads, [&](size_t worker) { team.take_part(static_cast<int>(worker)); });
}

}  // namespace hone
