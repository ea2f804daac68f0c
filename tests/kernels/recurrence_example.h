// Recurrent loops for tests: plans with the numbers of their operands, and what they give in f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/recurrence.h"

namespace hone {

// A plan with the numbers of its operands.
struct Example {
  RecurrencePlan plan;
  std::vector<std::vector<float>> operands;
  bool backwards = false;
  std::mt19937 generator{1};

  Example(int64_t steps, int64_t rows, bool backwards) : backwards(backwards) { plan.steps = steps, plan.rows = rows; }

  int64_t array(int64_t count, float scale) {
    std::normal_distribution<float> normal(0, scale);
    operands.emplace_back(count);
    for (float& number : operands.back()) number = normal(generator);
    return static_cast<int64_t>(operands.size()) - 1;
  }
  int64_t value(StepValue v) {
    plan.values.push_back(v);
    return static_cast<int64_t>(plan.values.size()) - 1;
  }
  int64_t columns(int64_t v) const { return plan.values[v].columns; }
  int64_t make(StepOp op, int64_t a, int64_t b = -1, int64_t c = -1) {
    return value({.op = op, .columns = columns(a), .of = {a, b, c}, .array = {}});
  }
  int64_t number(float number, int64_t columns) {
    return value({.op = StepOp::Number, .columns = columns, .array = {}, .number = number});
  }
  int64_t carried(int64_t state, int64_t columns, int64_t from = 0) {
    return value({.op = StepOp::Carried, .columns = columns, .state = state, .from = from, .array = {}});
  }
  // One step of [steps, rows, columns].
  int64_t sequence(int64_t columns) {
    const int64_t step = plan.rows * columns, last = std::max<int64_t>(plan.steps - 1, 0) * step;
    const int64_t at = array(std::max<int64_t>(plan.steps, 1) * step, 1);
    return value({.op = StepOp::Read,
                  .columns = columns,
                  .array = {at, backwards ? last : 0, backwards ? -step : step, columns, 1}});
  }
  int64_t bias(int64_t columns) {
    return value({.op = StepOp::Read, .columns = columns, .array = {array(columns, 1), 0, 0, 0, 1}});
  }
  int64_t of_rows(int64_t columns) {
    return value({.op = StepOp::Read, .columns = columns, .array = {array(plan.rows, 1), 0, 0, 1, 0}});
  }
  // With columns [from, from + columns) of a matrix of `all`, which may be stored by columns.
  int64_t dot(int64_t left, int64_t matrix, int64_t from, int64_t columns, int64_t all, bool by_column = false) {
    const int64_t depth = this->columns(left);
    const LoopArray array =
        by_column ? LoopArray{matrix, from * depth, 0, 1, depth} : LoopArray{matrix, from, 0, all, 1};
    return value({.op = StepOp::Dot, .columns = columns, .of = {left, -1, -1}, .array = array});
  }
  int64_t matrix(int64_t depth, int64_t columns) {
    return array(depth * columns, 1 / std::sqrt(static_cast<float>(depth)));
  }
  // Its number; what it becomes is set by ends().
  int64_t state(int64_t columns) {
    const auto s = static_cast<int64_t>(plan.states.size());
    plan.states.push_back({columns, 0, {array(plan.rows * columns, 1), 0, 0, columns, 1}, {s, 0, 0, columns, 1}});
    return s;
  }
  void ends(int64_t state, int64_t next) { plan.states[state].next = next; }
  void written(int64_t v) {
    const int64_t step = plan.rows * columns(v), last = std::max<int64_t>(plan.steps - 1, 0) * step;
    const auto result = static_cast<int64_t>(plan.states.size() + plan.written.size());
    plan.written.push_back({v, {result, backwards ? last : 0, backwards ? -step : step, columns(v), 1}});
  }
};

using Numbers = std::vector<double>;

inline double computed(StepOp op, double a, double b, double c) {
  switch (op) {
    case StepOp::Negate:
      return -a;
    case StepOp::Absolute:
      return std::fabs(a);
    case StepOp::Exponential:
      return std::exp(a);
    case StepOp::Tanh:
      return std::tanh(a);
    case StepOp::Logistic:
      return 1 / (1 + std::exp(-a));
    case StepOp::Add:
      return a + b;
    case StepOp::Subtract:
      return a - b;
    case StepOp::Multiply:
      return a * b;
    case StepOp::Divide:
      return a / b;
    case StepOp::Maximum:
      return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : std::max(a, b);
    case StepOp::Minimum:
      return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : std::min(a, b);
    case StepOp::Equal:
      return a == b;
    case StepOp::Less:
      return a < b;
    case StepOp::LessEqual:
      return a <= b;
    default:
      return a != 0 ? b : c;
  }
}

inline int64_t place(const LoopArray& a, int64_t step, int64_t row, int64_t column) {
  return a.first + step * a.step + row * a.row + column * a.column;
}

// In f64, value by value.
class Reference {
 public:
  explicit Reference(const Example& e) : e_(e), plan_(e.plan) {}

  std::vector<Numbers> results() {
    const std::vector<int64_t> extents = plan_.result_extents();
    for (const int64_t extent : extents) results_.emplace_back(extent, -7.0);
    for (const CarriedState& s : plan_.states) {
      states_.emplace_back();
      each(s.columns, [&](int64_t m, int64_t j) {
        states_.back().push_back(e_.operands[s.start.array][place(s.start, 0, m, j)]);
      });
    }
    for (int64_t step = 0; step < plan_.steps; ++step) take(step);
    for (size_t s = 0; s < plan_.states.size(); ++s) {
      const CarriedState& state = plan_.states[s];
      each(state.columns, [&](int64_t m, int64_t j) {
        results_[state.end.array][place(state.end, 0, m, j)] = states_[s][m * state.columns + j];
      });
    }
    return results_;
  }

 private:
  template <class Visit>
  void each(int64_t columns, Visit visit) const {
    for (int64_t m = 0; m < plan_.rows; ++m)
      for (int64_t j = 0; j < columns; ++j) visit(m, j);
  }

  double number(const StepValue& v, int64_t step, int64_t m, int64_t j) const {
    if (v.op == StepOp::Carried) return states_[v.state][m * plan_.states[v.state].columns + v.from + j];
    if (v.op == StepOp::Read) return e_.operands[v.array.array][place(v.array, step, m, j)];
    if (v.op == StepOp::Number) return v.number;
    if (v.op == StepOp::Dot) {
      const int64_t depth = plan_.values[v.of[0]].columns;
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += values_[v.of[0]][m * depth + k] * e_.operands[v.array.array][place(v.array, 0, k, j)];
      return sum;
    }
    double of[3] = {};
    for (int i = 0; i < elementwise_operands(v.op); ++i) of[i] = values_[v.of[i]][m * v.columns + j];
    return computed(v.op, of[0], of[1], of[2]);
  }

  void take(int64_t step) {
    values_.clear();
    for (const StepValue& v : plan_.values) {
      Numbers made;
      each(v.columns, [&](int64_t m, int64_t j) { made.push_back(number(v, step, m, j)); });
      values_.push_back(std::move(made));
    }
    for (size_t s = 0; s < plan_.states.size(); ++s) states_[s] = values_[plan_.states[s].next];
    for (const WrittenValue& w : plan_.written) {
      const int64_t columns = plan_.values[w.value].columns;
      each(columns, [&](int64_t m, int64_t j) {
        results_[w.array.array][place(w.array, step, m, j)] = values_[w.value][m * columns + j];
      });
    }
  }

  const Example& e_;
  const RecurrencePlan& plan_;
  std::vector<Numbers> states_, values_, results_;
};

}  // namespace hone
