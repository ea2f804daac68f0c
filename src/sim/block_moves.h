// Changes of a plan by blocks of operations: the moves of searches.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "sim/strategy_options.h"

namespace hone::sim {

// One entry of a plan that a move changes.
struct MoveChange {
  enum List : int8_t { Device, Fusion, Schedule };
  List list = Device;
  int32_t op = 0, before = 0, after = 0;
};

// How a block is picked.
enum class BlockKind : int8_t { Run, Producers, Around, Chain, Kernel };
inline constexpr int kBlockKinds = 5;

// A move that was drawn: all that it changes, in order. An entry can be changed twice.
struct Move {
  std::vector<MoveChange> changes;
  std::array<int32_t, kBlockKinds> blocks{};  // by kind
};

// How much a move changes.
struct MoveSizes {
  double largest = 0.5;  // of the program's operations, in one block; 0: one operation
  double single = 0.6;   // of moves that change one block; the others change several
};

// Moves of a plan that it holds a reference to. A move picks blocks, of one operation to half of the program, and changes
// the devices, the fusion and the order of all operations of a block together.
// Blocks: runs of the program in topological order or by level (the layers of a network), with or without what is on other
// devices; what an operation is computed from; the chain of the largest operands; the surroundings of an operation; kernels.
class BlockMoves {
 public:
  static constexpr int32_t kLevels = 9;  // of the order; within a level operations keep the order of the start

  // Fills the lists of the tasks in `plan`: everything on the first device, nothing fused, and the order of the plan as it
  // runs now. `reference`: a fusion that blocks can return to, by operation.
  BlockMoves(Simulator& simulator, const Tasks& tasks, Plan& plan, std::vector<int32_t> reference,
             const MoveSizes& sizes = {});

  bool possible() const;               // whether there is anything to move
  void focus(const StepTrace& trace);  // half of all blocks contain an operation of this step's critical path
  void apply(Rng& rng);                // changes the plan
  void undo();                         // takes the last apply() back
  Move drawn(Rng& rng);                // what apply() would change; the plan stays as it is
  void apply(const Move& move);        // a move drawn of this plan

 private:
  using Change = void (BlockMoves::*)(Rng& rng);

  std::vector<int32_t>& list_of(MoveChange::List list);
  void set(MoveChange::List list, int32_t op, int32_t value);
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
  MoveSizes sizes_;
  std::vector<Change> moves_;
  std::vector<int32_t> reference_;
  std::array<std::vector<int32_t>, 2> order_, place_;  // operations in topological order and by level, and their places
  std::vector<int32_t> heaviest_;                      // [ops]: the producer with the largest result; -1 = none
  std::vector<int32_t> rank_;                          // [ops]: higher first
  std::vector<int32_t> focus_, block_;
  std::vector<int64_t> seen_;  // [ops]: the last block that it is in
  int64_t stamp_ = 0;
  Move last_;
};

}  // namespace hone::sim
