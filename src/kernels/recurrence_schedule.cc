#include "kernels/recurrence_schedule.h"

#include <algorithm>
#include <map>

namespace hone {
namespace {

bool is_leaf(const StepValue& value) { return value.op <= StepOp::Number; }

class Scheduler {
 public:
  explicit Scheduler(const RecurrencePlan& plan)
      : plan_(plan), needed_(plan.values.size()), stored_(plan.values.size()), level_(plan.values.size()) {
    find_needed();
    find_levels();
    buffer_.assign(plan.values.size(), -1);
    for (size_t v = 0; v < plan.values.size(); ++v)
      if (stored_[v]) {
        buffer_[v] = static_cast<int64_t>(schedule_.buffers.size());
        schedule_.buffers.push_back(plan.values[v].columns);
      }
  }

  RecurrenceSchedule build() {
    const int64_t last = *std::max_element(level_.begin(), level_.end());
    for (int64_t level = 0; level <= last; ++level) {
      std::map<int64_t, std::vector<int64_t>> by_columns;
      for (size_t v = 0; v < level_.size(); ++v)
        if (needed_[v] && level_[v] == level && is_computed(v)) by_columns[plan_.values[v].columns].push_back(v);
      std::vector<TileGroup> groups;
      for (const auto& [columns, values] : by_columns) groups.push_back(group(columns, values));
      if (!groups.empty()) schedule_.phases.push_back(std::move(groups));
    }
    return std::move(schedule_);
  }

 private:
  const StepValue& value(int64_t v) const { return plan_.values[v]; }

  void find_needed() {
    for (const CarriedState& state : plan_.states) needed_[state.next] = true;
    for (const WrittenValue& written : plan_.written) needed_[written.value] = true;
    for (size_t v = plan_.values.size(); v-- > 0;)
      if (needed_[v])
        for (const int64_t operand : value(v).of)
          if (operand >= 0) needed_[operand] = true;
  }

  // A dot reads all columns of its left side: what is not carried is computed in an earlier phase.
  void find_levels() {
    for (size_t v = 0; v < plan_.values.size(); ++v) {
      if (!needed_[v]) continue;
      const StepValue& at = value(v);
      if (at.op == StepOp::Dot && value(at.of[0]).op != StepOp::Carried) {
        level_[v] = level_[at.of[0]] + 1;
        stored_[at.of[0]] = true;
      }
      if (elementwise_operands(at.op) == 0) continue;
      for (const int64_t operand : at.of)
        if (operand >= 0) level_[v] = std::max(level_[v], level_[operand]);
      for (const int64_t operand : at.of)
        if (operand >= 0 && !is_leaf(value(operand)) && level_[operand] < level_[v]) stored_[operand] = true;
    }
  }

  bool leaves_step(int64_t v) const {
    return stored_[v] || std::any_of(plan_.states.begin(), plan_.states.end(), [&](auto& s) { return s.next == v; }) ||
           std::any_of(plan_.written.begin(), plan_.written.end(), [&](auto& w) { return w.value == v; });
  }
  bool is_computed(int64_t v) const { return !is_leaf(value(v)) || leaves_step(v); }

  int place(PlaceOrigin origin) {
    schedule_.places.push_back(origin);
    return static_cast<int>(schedule_.places.size()) - 1;
  }

  // The number of a value in this group, loaded where it is not computed here.
  int in_group(int64_t v) {
    if (const auto found = here_.find(v); found != here_.end()) return found->second;
    const StepValue& at = value(v);
    TileOp op{.kind = TileOp::Load, .out = next_++};
    if (at.op == StepOp::Number) {
      op.kind = TileOp::Fill;
      op.number = at.number;
    } else if (at.op == StepOp::Carried) {
      op.place = place({.kind = PlaceOrigin::State, .index = at.state, .from = at.from});
    } else if (at.op == StepOp::Read) {
      op.place = place({.kind = PlaceOrigin::Operand, .array = at.array});
    } else {
      op.place = place({.kind = PlaceOrigin::Buffer, .index = buffer_[v]});
    }
    ops_.push_back(op);
    return here_[v] = op.out;
  }

  void compute(int64_t v) {
    const StepValue& at = value(v);
    if (is_leaf(at)) {
      in_group(v);
      return;
    }
    TileOp op{.kind = TileOp::Compute, .op = at.op};
    if (at.op == StepOp::Dot) {
      const StepValue& left = value(at.of[0]);
      op.kind = TileOp::Product;
      op.depth = left.columns;
      op.matrix = static_cast<int>(schedule_.matrices.size());
      schedule_.matrices.push_back({at.array, left.columns, at.columns});
      op.place = left.op == StepOp::Carried
                     ? place({.kind = PlaceOrigin::State, .index = left.state, .from = left.from})
                     : place({.kind = PlaceOrigin::Buffer, .index = buffer_[at.of[0]]});
    } else {
      int* operands[] = {&op.a, &op.b, &op.c};
      for (int i = 0; i < elementwise_operands(at.op); ++i) *operands[i] = in_group(at.of[i]);
    }
    op.out = here_[v] = next_++;
    ops_.push_back(op);
  }

  void store(int64_t v) {
    const auto add = [&](PlaceOrigin origin) {
      ops_.push_back({.kind = TileOp::Store, .a = here_[v], .place = place(origin)});
    };
    if (stored_[v]) add({.kind = PlaceOrigin::Buffer, .index = buffer_[v]});
    for (size_t s = 0; s < plan_.states.size(); ++s)
      if (plan_.states[s].next == v) add({.kind = PlaceOrigin::NextState, .index = static_cast<int64_t>(s)});
    for (const WrittenValue& written : plan_.written)
      if (written.value == v) add({.kind = PlaceOrigin::Result, .array = written.array});
  }

  TileGroup group(int64_t columns, const std::vector<int64_t>& values) {
    here_.clear();
    ops_.clear();
    next_ = 0;
    for (const int64_t v : values) {
      compute(v);
      store(v);
    }
    return {columns, assign_slots(), ops_};
  }

  // Slots are used again when nothing reads their value any more, so that all of them stay in the first-level cache.
  int assign_slots() {
    std::vector<size_t> last_use(next_);
    for (size_t i = 0; i < ops_.size(); ++i)
      for (const int number : {ops_[i].a, ops_[i].b, ops_[i].c, ops_[i].out})
        if (number >= 0) last_use[number] = i;
    std::vector<int> slot_of(next_, -1);
    std::vector<bool> taken;
    for (size_t i = 0; i < ops_.size(); ++i) {
      std::vector<int> free_after;
      for (int* number : {&ops_[i].a, &ops_[i].b, &ops_[i].c}) {
        if (*number < 0) continue;
        if (last_use[*number] == i) free_after.push_back(slot_of[*number]);
        *number = slot_of[*number];
      }
      for (const int slot : free_after) taken[slot] = false;  // a result may take the place of what it is made of
      int& out = ops_[i].out;
      if (out < 0) continue;
      const int slot = static_cast<int>(std::find(taken.begin(), taken.end(), false) - taken.begin());
      if (slot == static_cast<int>(taken.size())) taken.push_back(false);
      taken[slot] = last_use[out] != i;
      out = slot_of[out] = slot;
    }
    return static_cast<int>(taken.size());
  }

  const RecurrencePlan& plan_;
  std::vector<char> needed_, stored_;  // by value; stored: read by a later phase
  std::vector<int64_t> level_, buffer_;
  RecurrenceSchedule schedule_;
  // Of the group that is made.
  std::map<int64_t, int> here_;
  std::vector<TileOp> ops_;
  int next_ = 0;
};

}  // namespace

RecurrenceSchedule schedule_of(const RecurrencePlan& plan) { return Scheduler(plan).build(); }

}  // namespace hone
