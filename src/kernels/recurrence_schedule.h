// The order in which a step of a recurrent loop is computed.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/recurrence_plan.h"

namespace hone {

// What a place of tiles is memory of.
struct PlaceOrigin {
  enum Kind : uint8_t {
    Operand,
    Result,
    State,      // as the step finds it
    NextState,  // as it leaves it
    Buffer,     // within a step
  };
  Kind kind = Buffer;
  LoopArray array = {};  // Operand, Result
  int64_t index = 0;     // State, NextState, Buffer
  int64_t from = 0;      // its first column
};

// Values of as many columns, each tile of which needs nothing of its neighbours.
struct TileGroup {
  int64_t columns = 0;
  int slots = 0;
  std::vector<TileOp> ops;
};

struct StepMatrix {
  LoopArray array;
  int64_t depth = 0, columns = 0;
};

struct RecurrenceSchedule {
  std::vector<std::vector<TileGroup>> phases;  // each needs all that the earlier ones computed
  std::vector<PlaceOrigin> places;
  std::vector<int64_t> buffers;  // columns
  std::vector<StepMatrix> matrices;
};

RecurrenceSchedule schedule_of(const RecurrencePlan& plan);

}  // namespace hone
