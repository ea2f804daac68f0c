// How fast a core runs at this moment. On a machine that is shared, what others do on the same core's other thread, and the frequency that
// the whole processor is left with, make the same code take up to half as long again, for milliseconds or for minutes.
#pragma once

namespace hone {

// Processor time of a fixed loop, ns: about 20 us of integer operations that wait for nothing, so that a core that is shared or slowed
// down takes longer. It uses no memory: caches and memory that others use are not seen.
double core_probe_ns();

// A core whose probe takes this many times as long as at its best is disturbed. The frequency alone changes it by less: on a Xeon of a
// cloud the probe took 20 to 25 us, or 30 to 42 (docs/results/cost-model.md).
inline constexpr double kDisturbed = 1.2;

// The probe at a core's best, as far as duels have told.
class CoreBest {
 public:
  double ns() const { return ns_; }  // 0 = none yet
  // `core_ns`: of one duel. A core that has not come near its best for many of them is slower now: to wait for more would take a
  // collection's time.
  void note(double core_ns);

 private:
  double ns_ = 0;
  int disturbed_ = 0;  // the last ones
};

// Processor time that the hypervisor gave to others while the CPU had work, ms since the machine started, in steps of 10; 0 where the
// system does not tell. `cpu`: its number.
double stolen_ms(int cpu);

}  // namespace hone
