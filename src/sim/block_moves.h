// Changes of a plan by blocks of operations: the moves of searches.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "sim/strategy_options.h"

namespace hone::sim {

// Moves of a plan that it holds a reference to. A move picks blocks, of one operation to half of the program, and changes
// the devices, the fusion and the order of all operations of a block together.
// Blocks: runs of the program in topological order or by level (the layers of a network), with or without what is on other
// devices; what an operation is computed from; the chain of the largest operands; the surroundings of an operation; kernels.
class BlockMoves {
 public:
  static constexpr int32_t kLevels = 9;  // of the order; within a level operations keep the order of the start

  // Fills the lists of the tasks in `plan`: everything on the first device, nothing fused, and the order of the plan as it
  // runs now. `reference`: a fusion that blocks can return to, by operation.
  BlockMoves(Simulator& simulator, const Tasks& tasks, Plan& plan, std::vector<int32_t> reference);

  bool possible() const;               // whether there is anything to move
  void focus(const StepTrace& trace);  // half of all blocks contain an operation of this step's critical path
  void apply(Rng& rng);                // changes the plan
  void undo();                         // takes the last apply() back

 private:
  struct Entry {
    int32_t* at;
    int32_t before;
  };
  using Move = void (BlockMoves::*)(Rng& rng);

  void set(int32_t& entry, int32_t value);
  void rank(const std::vector<int32_t>& schedule);
  void order_by_trace(Simulator& simulator);

  int32_t begin(Rng& rng) const;
  void pick_block(Rng& rng);
  void pick_run(Rng& rng, int32_t from, int64_t length);
  void pick_around(int32_t from, int64_t length, bool down);
  void pick_chain(int32_t from, int64_t length);
  void pick_kernel(int32_t from, int64_t length);
  void close_kernels();
  void add(int32_t op);

  void move_placement(Rng& rng);
  void move_fusion(Rng& rng);
  void move_schedule(Rng& rng);
  int32_t neighbour_device(Rng& rng) const;

  const Simulator& simulator_;
  Plan& plan_;
  std::vector<Move> moves_;
  std::vector<int32_t> reference_;
  std::array<std::vector<int32_t>, 2> order_, place_;  // operations in topological order and by level, and their places
  std::vector<int32_t> heaviest_;                      // [ops]: the producer with the largest result; -1 = none
  std::vector<int32_t> rank_;                          // [ops]: higher first
  std::vector<int32_t> focus_, block_, seen_;
  int32_t stamp_ = 0;
  std::vector<Entry> undo_;
};

}  // namespace hone::sim
