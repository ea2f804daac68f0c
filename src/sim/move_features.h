// Numbers that describe a move of a plan before it is simulated: the inputs of a scorer of moves.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "sim/block_moves.h"

namespace hone::sim {

inline constexpr int kMoveFeatures = 48;
using MoveVector = std::array<float, kMoveFeatures>;

// Describes moves of one plan. Times are shares of the plan's step; where operations run in time, and which of them no device can wait
// for, is known of the last look alone.
class MoveFeatures {
 public:
  MoveFeatures(const Simulator& simulator, const Plan& plan);

  // A step of the plan with its trace.
  void look(const StepTrace& trace, double step_seconds);
  // The plan's devices have changed since the last call, or its time has.
  void update(double step_seconds);
  // Of a move of the plan as update() knows it. `rate`: of the last moves, how many made the step shorter, 0 to 1.
  MoveVector of(const Move& move, double rate);

 private:
  struct Moved;
  void set_after(const Move& move);
  double seconds(int32_t op, int32_t device) const { return simulator_.op_seconds(op, device); }
  double transfers(int32_t from, uint64_t devices, double bytes) const;
  int32_t device_before(int32_t op) const { return plan_.device.empty() ? 0 : plan_.device[op]; }
  int32_t device_after(int32_t op) const { return seen_[op] == stamp_ ? after_[op] : device_before(op); }
  bool is_moved(int32_t op) const { return seen_[op] == stamp_; }
  void loads_of(Moved& moved) const;
  void transfers_of(Moved& moved);
  void fetches_of(Moved& moved);
  void fetch_of(int32_t parameter, Moved& moved);
  void path_of(Moved& moved) const;
  void times_of(Moved& moved) const;
  void fusion_and_order(const Move& move, Moved& moved) const;

  static constexpr int kBuckets = 64;
  const Simulator& simulator_;
  const Plan& plan_;
  double step_ = 1;
  std::vector<double> load_, start_, gain_;    // [devices], [ops], [ops]
  std::vector<float> busy_;                    // [devices * kBuckets]: share of the time
  std::vector<uint8_t> on_path_;               // [ops]
  std::vector<int32_t> path_, after_, moved_;  // roots of the critical path; [ops]; operations whose device changes
  std::vector<int64_t> seen_, asked_;          // [ops]
  std::vector<int32_t> updated_;  // [ops]: the parameter whose new value it is, or -1; empty: parameters are everywhere
  int64_t stamp_ = 0;
};

}  // namespace hone::sim
