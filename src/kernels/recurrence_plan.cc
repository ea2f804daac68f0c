#include "kernels/recurrence_plan.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"

namespace hone {
namespace {

using nlohmann::json;

constexpr char kUnfit[] = "values and arrays of a recurrent loop do not fit together";
constexpr int64_t kMostNumbers = int64_t{1} << 40;  // so that no product of sizes and strides overflows
constexpr double kMostElements = 1e10;              // of all states and values, and of all matrices: what is allocated
constexpr int64_t kPadding = 4096;                  // columns beside those of a row, at most

json to_json(const LoopArray& a) { return {a.array, a.first, a.step, a.row, a.column}; }

LoopArray array_of(const json& value) {
  const auto numbers = value.get<std::array<int64_t, 5>>();
  return {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
}

json to_json(const StepValue& value) {
  // A number as bits: JSON has neither infinities nor exact fractions.
  return {static_cast<int>(value.op),           value.columns, value.of, value.state, value.from, to_json(value.array),
          std::bit_cast<uint32_t>(value.number)};
}

StepValue value_of(const json& at) {
  const int op = at.at(0);
  if (op < 0 || op >= kStepOps) throw Error("no such operation of a step", at.dump());
  return {static_cast<StepOp>(op),
          at.at(1),
          at.at(2).get<std::array<int64_t, 3>>(),
          at.at(3),
          at.at(4),
          array_of(at.at(5)),
          std::bit_cast<float>(at.at(6).get<uint32_t>())};
}

// Where the first and the last number of [rows, columns] lie in an array, over all steps.
struct Extent {
  int64_t first, last;
};

Extent extent_of(const LoopArray& array, int64_t steps, int64_t rows, int64_t columns) {
  Extent extent{array.first, array.first};
  const int64_t ends[] = {(steps - 1) * array.step, (rows - 1) * array.row, (columns - 1) * array.column};
  for (const int64_t end : ends) (end < 0 ? extent.first : extent.last) += end;
  return extent;
}

class Check {
 public:
  explicit Check(const RecurrencePlan& plan) : plan_(plan) {}

  bool fits() const {
    if (plan_.steps < 0 || plan_.steps > kMostNumbers || plan_.rows < 1 || plan_.rows > kMostNumbers ||
        plan_.states.empty() || elements() > kMostElements)
      return false;
    for (int64_t v = 0; v < count(); ++v)
      if (!fits(plan_.values[v], v)) return false;
    return std::all_of(plan_.states.begin(), plan_.states.end(),
                       [&](const CarriedState& s) {
                         return is_width(s.columns) && is_value(s.next, count()) &&
                                plan_.values[s.next].columns == s.columns && fits(s.start, 1, plan_.rows, s.columns) &&
                                fits(s.end, 1, plan_.rows, s.columns) && is_result(s.end, 1, s.columns);
                       }) &&
           std::all_of(plan_.written.begin(), plan_.written.end(), [&](const WrittenValue& w) {
             if (!is_value(w.value, count())) return false;
             const int64_t columns = plan_.values[w.value].columns;
             return fits(w.array, plan_.steps, plan_.rows, columns) && is_result(w.array, plan_.steps, columns);
           });
  }

 private:
  // In floating point, since nothing is known of the sizes yet.
  double elements() const {
    double all = 0;
    const auto add = [&](int64_t rows, int64_t columns) {
      all += std::abs(static_cast<double>(rows)) * (std::abs(static_cast<double>(columns)) + kPadding);
    };
    for (const CarriedState& s : plan_.states) add(plan_.rows, s.columns);
    for (int64_t v = 0; v < count(); ++v) {
      const StepValue& value = plan_.values[v];
      add(plan_.rows, value.columns);
      if (value.op == StepOp::Dot && is_value(value.of[0], v)) add(plan_.values[value.of[0]].columns, value.columns);
    }
    return all;
  }
  // Each element is written once.
  bool is_result(const LoopArray& array, int64_t steps, int64_t columns) const {
    return (steps <= 1 || array.step != 0) && (plan_.rows <= 1 || array.row != 0) &&
           (columns <= 1 || array.column != 0);
  }

  int64_t count() const { return static_cast<int64_t>(plan_.values.size()); }
  static bool is_width(int64_t columns) { return columns >= 1 && columns <= kMostNumbers; }
  static bool is_value(int64_t v, int64_t before) { return v >= 0 && v < before; }

  static bool fits(const LoopArray& array, int64_t steps, int64_t rows, int64_t columns) {
    const auto small = [](int64_t count, int64_t stride) {
      return stride > -kMostNumbers && stride < kMostNumbers &&
             (count <= 1 || std::abs(stride) <= kMostNumbers / (count - 1));
    };
    return array.array >= 0 && array.array < kMostArrays && array.first >= 0 && array.first < kMostNumbers &&
           small(steps, array.step) && small(rows, array.row) && small(columns, array.column) &&
           extent_of(array, std::max<int64_t>(steps, 1), rows, columns).first >= 0;
  }

  // `v`: the number of the value, which may be made of earlier ones.
  bool fits(const StepValue& value, int64_t v) const {
    if (!is_width(value.columns)) return false;
    const int operands = value.op == StepOp::Dot ? 1 : elementwise_operands(value.op);
    if (std::any_of(value.of.begin() + operands, value.of.end(), [](int64_t unused) { return unused != -1; }))
      return false;
    switch (value.op) {
      case StepOp::Carried: {
        const bool known = value.state >= 0 && value.state < static_cast<int64_t>(plan_.states.size());
        return known && value.from >= 0 && value.from <= kMostNumbers &&
               value.from + value.columns <= plan_.states[value.state].columns;
      }
      case StepOp::Read:
        return fits(value.array, plan_.steps, plan_.rows, value.columns);
      case StepOp::Number:
        return true;
      case StepOp::Dot:
        return is_value(value.of[0], v) && fits(value.array, 1, plan_.values[value.of[0]].columns, value.columns);
      default:
        return std::all_of(value.of.begin(), value.of.begin() + operands,
                           [&](int64_t of) { return is_value(of, v) && plan_.values[of].columns == value.columns; });
    }
  }

  static constexpr int64_t kMostArrays = 1000;
  const RecurrencePlan& plan_;
};

void include(std::vector<int64_t>& extents, const LoopArray& array, int64_t steps, int64_t rows, int64_t columns) {
  if (static_cast<int64_t>(extents.size()) <= array.array) extents.resize(array.array + 1, 0);
  if (steps < 1) return;
  extents[array.array] = std::max(extents[array.array], extent_of(array, steps, rows, columns).last + 1);
}

}  // namespace

std::string RecurrencePlan::text() const {
  json value_list = json::array(), state_list = json::array(), written_list = json::array();
  for (const StepValue& value : values) value_list.push_back(to_json(value));
  for (const CarriedState& s : states) state_list.push_back(json{s.columns, s.next, to_json(s.start), to_json(s.end)});
  for (const WrittenValue& w : written) written_list.push_back(json{w.value, to_json(w.array)});
  return json{{"steps", steps},       {"rows", rows},         {"steady", steady},
              {"values", value_list}, {"states", state_list}, {"written", written_list}}
      .dump();
}

RecurrencePlan RecurrencePlan::from_text(std::string_view text) {
  try {
    const json value = json::parse(shallow_json(text));
    RecurrencePlan plan{value.at("steps"), value.at("rows"), value.at("steady"), {}, {}, {}};
    for (const json& at : value.at("values")) plan.values.push_back(value_of(at));
    for (const json& at : value.at("states"))
      plan.states.push_back({at.at(0), at.at(1), array_of(at.at(2)), array_of(at.at(3))});
    for (const json& at : value.at("written")) plan.written.push_back({at.at(0), array_of(at.at(1))});
    if (!plan.fits()) throw Error(kUnfit, std::string(text));
    return plan;
  } catch (const json::exception&) {
    throw Error("not the configuration of a recurrent loop", std::string(text));
  }
}

bool RecurrencePlan::fits() const { return Check(*this).fits(); }

std::vector<int64_t> RecurrencePlan::operand_extents() const {
  std::vector<int64_t> extents;
  for (const CarriedState& state : states) include(extents, state.start, 1, rows, state.columns);
  for (const StepValue& value : values) {
    if (value.op == StepOp::Read) include(extents, value.array, steps, rows, value.columns);
    if (value.op == StepOp::Dot) include(extents, value.array, 1, values[value.of[0]].columns, value.columns);
  }
  return extents;
}

std::vector<int64_t> RecurrencePlan::result_extents() const {
  std::vector<int64_t> extents;
  for (const CarriedState& state : states) include(extents, state.end, 1, rows, state.columns);
  for (const WrittenValue& w : written) include(extents, w.array, steps, rows, values[w.value].columns);
  return extents;
}

}  // namespace hone
