#include "kernels/recurrence.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "kernels/instruction_sets.h"
#include "kernels/kept_weights.h"
#include "kernels/phased_work.h"
#include "kernels/recurrence_schedule.h"
#include "kernels/thread_memory.h"

namespace hone {
namespace {

constexpr int64_t kTileElements = 256;    // of a value, so that starting an operation takes little of its time
constexpr int64_t kMostColumns = 128;     // of a tile
constexpr double kLeastOperations = 4e4;  // of a thread in a step: about half a microsecond
constexpr double kElementOperations =
    8;                                // what computing one element of a value takes, in additions and multiplications
constexpr int64_t kLine = 16;         // numbers of a line of a cache
constexpr int64_t kPackedPanels = 4;  // at once

int64_t rounded_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

// A group whose tiles are units of a phase.
struct TiledGroup {
  const TileGroup* group;
  int64_t row_parts, column_parts;
  int64_t block, blocks;  // columns that are not divided, and how often there are as many
  int64_t units() const { return row_parts * column_parts; }
};

// How many numbers the panels of a matrix take.
int64_t panels_size(const StepMatrix& matrix, int64_t panel) {
  return rounded_up(matrix.depth * rounded_up(matrix.columns, panel), kLine);
}

void pack_columns(const RecurrenceKernel& kernel, const StepMatrix& matrix, const float* operand, int64_t from,
                  int64_t columns, float* panels) {
  kernel.pack(operand + matrix.array.first + from * matrix.array.column, matrix.array.row, matrix.array.column,
              matrix.depth, columns, panels + from * matrix.depth);
}

class Call {
 public:
  // `kept`: panels of all matrices, one behind the other; null: they are made in each call.
  Call(const RecurrenceKernel& kernel, const RecurrencePlan& plan, const RecurrenceSchedule& schedule,
       const float* const* operands, float* const* results)
      : kernel_(kernel),
        plan_(plan),
        operands_(operands),
        results_(results),
        schedule_(schedule),
        panel_(2 * kernel.lanes) {}

  void run(float* kept, int threads, const ForEach& for_each) {
    threads_ = threads_worth(threads);
    for (const std::vector<TileGroup>& phase : schedule_.phases) {
      phases_.emplace_back();
      for (const TileGroup& group : phase) phases_.back().push_back(tiled(group));
    }
    lay_out(kept);
    begin();
    compute_all(for_each);
    end();
  }

 private:
  void begin() const {
    for (size_t s = 0; s < plan_.states.size(); ++s)
      for_each_number(plan_.states[s], [&](int64_t row, int64_t column, int64_t at_start, int64_t) {
        even_[s][row * row_stride(plan_.states[s].columns) + column] = operands_[plan_.states[s].start.array][at_start];
      });
  }

  void compute_all(const ForEach& for_each) const {
    PhasedWork work{.first = packing_units_, .phases = {}, .rounds = plan_.steps, .compute = {}};
    for (const auto& phase : phases_) {
      int64_t units = 0;
      for (const TiledGroup& group : phase) units += group.units();
      work.phases.push_back(units);
    }
    work.compute = [this](int64_t step, int64_t phase, int64_t unit, int worker) {
      if (phase < 0) return pack(unit);
      for (const TiledGroup& group : phases_[phase]) {
        if (unit < group.units()) return compute(group, step, unit, worker);
        unit -= group.units();
      }
    };
    run_in_phases(work, threads_, for_each);
  }

  void end() const {
    const std::vector<float*>& last = plan_.steps % 2 == 0 ? even_ : odd_;
    for (size_t s = 0; s < plan_.states.size(); ++s)
      for_each_number(plan_.states[s], [&](int64_t row, int64_t column, int64_t, int64_t at_end) {
        results_[plan_.states[s].end.array][at_end] = last[s][row * row_stride(plan_.states[s].columns) + column];
      });
  }

  int threads_worth(int threads) const {
    double operations = 0;
    for (const StepMatrix& matrix : schedule_.matrices)
      operations += 2.0 * static_cast<double>(plan_.rows * matrix.depth * matrix.columns);
    for (const StepValue& value : plan_.values)
      operations += kElementOperations * static_cast<double>(plan_.rows * value.columns);
    return static_cast<int>(std::clamp(operations / kLeastOperations, 1.0, static_cast<double>(std::max(threads, 1))));
  }

  TiledGroup tiled(const TileGroup& group) const {
    const int64_t row_parts = (plan_.rows + kernel_.rows - 1) / kernel_.rows,
                  rows = (plan_.rows + row_parts - 1) / row_parts;
    TiledGroup tiled{&group, row_parts, 0, 2 * panel_, 0};
    const auto blocks_of = [&](int64_t block) { return (group.columns + block - 1) / block; };
    // Few rows are multiplied with two panels at once.
    if (rows > kernel_.rows / 3 || blocks_of(tiled.block) < threads_) tiled.block = panel_;
    tiled.blocks = blocks_of(tiled.block);
    const int64_t at_once = std::clamp(kTileElements / (rows * tiled.block), int64_t{1}, kMostColumns / tiled.block);
    tiled.column_parts = (tiled.blocks + at_once - 1) / at_once;
    if (threads_ > 1) tiled.column_parts = std::min(rounded_up(tiled.column_parts, threads_), tiled.blocks);
    return tiled;
  }

  // Rows of states and buffers begin with a line of a cache, and are no power of two apart.
  int64_t row_stride(int64_t columns) const { return rounded_up(columns, panel_) + kLine; }
  // Whole vectors are read behind the last column of a part of a row.
  int64_t size_of(int64_t columns) const { return plan_.rows * row_stride(columns) + 2 * panel_; }
  int64_t tile_size(const TiledGroup& group) const {
    const int64_t rows = (plan_.rows + group.row_parts - 1) / group.row_parts,
                  blocks = (group.blocks + group.column_parts - 1) / group.column_parts;
    return group.group->slots * rows * blocks * group.block;
  }

  // All memory is there before threads begin, which cannot fail any more.
  void lay_out(float* kept) {
    int64_t slots = 0, numbers = 0;
    for (const auto& phase : phases_)
      for (const TiledGroup& group : phase) slots = std::max(slots, rounded_up(tile_size(group), kLine));
    const auto take = [&](int64_t count) {
      numbers += rounded_up(count, kLine);
      return numbers - rounded_up(count, kLine);
    };
    std::vector<int64_t> even, odd, buffers, matrices;
    for (const CarriedState& state : plan_.states) {
      even.push_back(take(size_of(state.columns)));
      odd.push_back(take(size_of(state.columns)));
    }
    for (const int64_t columns : schedule_.buffers) buffers.push_back(take(size_of(columns)));
    const int64_t to_clear = numbers;
    int64_t kept_numbers = 0;
    for (const StepMatrix& matrix : schedule_.matrices) {
      const int64_t size = panels_size(matrix, panel_);
      matrices.push_back(kept == nullptr ? take(size) : std::exchange(kept_numbers, kept_numbers + size));
      if (kept == nullptr) packing_units_ += packing_parts(matrix);
    }
    const int64_t first_slot = take(slots * threads_);
    float* memory = thread_memory(numbers);
    std::fill(memory, memory + to_clear, 0.0F);  // what lies behind the columns is computed with, too
    for (const int64_t at : even) even_.push_back(memory + at);
    for (const int64_t at : odd) odd_.push_back(memory + at);
    for (const int64_t at : buffers) buffers_.push_back(memory + at);
    for (const int64_t at : matrices) panels_.push_back((kept == nullptr ? memory : kept) + at);
    slots_ = memory + first_slot;
    slots_of_thread_ = slots;
    for (const PlaceOrigin& origin : schedule_.places) places_.push_back(place(origin));
  }

  TilePlace place(const PlaceOrigin& origin) const {
    const LoopArray& array = origin.array;
    const auto inside = [&](float* even, float* odd, int64_t columns) {
      return TilePlace{even + origin.from, odd + origin.from, 0, row_stride(columns), 1, true};
    };
    switch (origin.kind) {
      case PlaceOrigin::Operand: {
        float* first = const_cast<float*>(operands_[array.array]) + array.first;  // only read
        return {first, first, array.step, array.row, array.column, false};
      }
      case PlaceOrigin::Result: {
        float* first = results_[array.array] + array.first;
        return {first, first, array.step, array.row, array.column, false};
      }
      case PlaceOrigin::State:
        return inside(even_[origin.index], odd_[origin.index], plan_.states[origin.index].columns);
      case PlaceOrigin::NextState:
        return inside(odd_[origin.index], even_[origin.index], plan_.states[origin.index].columns);
      default:
        return inside(buffers_[origin.index], buffers_[origin.index], schedule_.buffers[origin.index]);
    }
  }

  template <class Visit>
  void for_each_number(const CarriedState& state, Visit visit) const {
    for (int64_t row = 0; row < plan_.rows; ++row)
      for (int64_t column = 0; column < state.columns; ++column)
        visit(row, column, state.start.first + row * state.start.row + column * state.start.column,
              state.end.first + row * state.end.row + column * state.end.column);
  }

  int64_t packing_parts(const StepMatrix& matrix) const {
    return (matrix.columns + kPackedPanels * panel_ - 1) / (kPackedPanels * panel_);
  }

  void pack(int64_t unit) const {
    size_t m = 0;
    for (; unit >= packing_parts(schedule_.matrices[m]); ++m) unit -= packing_parts(schedule_.matrices[m]);
    const StepMatrix& matrix = schedule_.matrices[m];
    const int64_t from = unit * kPackedPanels * panel_;
    pack_columns(kernel_, matrix, operands_[matrix.array.array], from,
                 std::min(kPackedPanels * panel_, matrix.columns - from), panels_[m]);
  }

  void compute(const TiledGroup& group, int64_t step, int64_t unit, int worker) const {
    const int64_t row_part = unit % group.row_parts, column_part = unit / group.row_parts;
    Tile tile;
    tile.ops = group.group->ops.data();
    tile.count = static_cast<int64_t>(group.group->ops.size());
    tile.places = places_.data();
    tile.panels = panels_.data();
    tile.step = step;
    tile.row = plan_.rows * row_part / group.row_parts;
    tile.rows = plan_.rows * (row_part + 1) / group.row_parts - tile.row;
    tile.column = group.blocks * column_part / group.column_parts * group.block;
    const int64_t end = group.blocks * (column_part + 1) / group.column_parts * group.block;
    tile.columns = std::min(end, group.group->columns) - tile.column;
    tile.slots = slots_ + worker * slots_of_thread_;
    kernel_.compute(tile);
  }

  const RecurrenceKernel& kernel_;
  const RecurrencePlan& plan_;
  const float* const* operands_;
  float* const* results_;
  const RecurrenceSchedule& schedule_;
  const int64_t panel_;
  int threads_ = 1;
  std::vector<std::vector<TiledGroup>> phases_;
  int64_t packing_units_ = 0, slots_of_thread_ = 0;
  std::vector<float*> even_, odd_, buffers_, panels_;
  float* slots_ = nullptr;
  std::vector<TilePlace> places_;
};

}  // namespace

struct Recurrence::State {
  RecurrencePlan plan;
  const RecurrenceKernel& kernel;
  RecurrenceSchedule schedule = {};
  std::mutex mutex = {};
  std::shared_ptr<const KeptWeights> kept = nullptr;  // made of the operands that `read` says, at this epoch
  std::vector<const float*> read = {};
  uint64_t read_epoch = 0;

  // Panels of weights that stay as they are; null: of others.
  std::shared_ptr<const KeptWeights> kept_panels(const float* const* operands) {
    if (!plan.steady || schedule.matrices.empty()) return nullptr;
    const std::lock_guard lock(mutex);
    const uint64_t epoch = weights_epoch();
    std::vector<const float*> now;
    for (const StepMatrix& matrix : schedule.matrices) now.push_back(operands[matrix.array.array]);
    if (kept != nullptr && now == read && epoch == read_epoch) return kept;
    const int64_t panel = 2 * kernel.lanes;
    int64_t numbers = 0;
    for (const StepMatrix& matrix : schedule.matrices) numbers += panels_size(matrix, panel);
    auto made = std::make_shared<const KeptWeights>(numbers * sizeof(float));
    auto* panels = static_cast<float*>(made->data());
    for (const StepMatrix& matrix : schedule.matrices) {
      pack_columns(kernel, matrix, operands[matrix.array.array], 0, matrix.columns, panels);
      panels += panels_size(matrix, panel);
    }
    read = std::move(now);
    read_epoch = epoch;
    return kept = std::move(made);
  }
};

const RecurrenceKernel& widest_recurrence_kernel() {
  static const RecurrenceKernel& widest = widest_kernel(kRecurrenceAvx512, kRecurrenceAvx2, kRecurrencePortable);
  return widest;
}

Recurrence::Recurrence(RecurrencePlan plan, const RecurrenceKernel& kernel)
    : state_(new State{.plan = std::move(plan), .kernel = kernel}) {
  state_->schedule = schedule_of(state_->plan);
}

Recurrence::~Recurrence() = default;

void Recurrence::run(const float* const* operands, float* const* results, int threads, const ForEach& for_each) const {
  const std::shared_ptr<const KeptWeights> kept = state_->kept_panels(operands);
  Call(state_->kernel, state_->plan, state_->schedule, operands, results)
      .run(kept ? static_cast<float*>(kept->data()) : nullptr, threads, for_each);
}

}  // namespace hone
