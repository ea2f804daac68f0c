#include "kernels/recurrence.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "kernels/instruction_sets.h"
#include "kernels/kept_weights.h"
#include "tests/kernels/in_threads.h"
#include "tests/kernels/recurrence_example.h"

namespace hone {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Example lstm(int64_t steps, int64_t rows, int64_t width, bool backwards = false, bool by_column = false) {
  Example e(steps, rows, backwards);
  const int64_t h = e.state(width), c = e.state(width), matrix = e.matrix(width, 4 * width);
  const int64_t from_h = e.carried(h, width), from_c = e.carried(c, width);
  int64_t gates[4];
  for (int64_t g = 0; g < 4; ++g) {
    int64_t sum = e.make(StepOp::Add, e.dot(from_h, matrix, g * width, width, 4 * width, by_column), e.sequence(width));
    sum = e.make(StepOp::Add, sum, e.bias(width));
    gates[g] = e.make(g == 2 ? StepOp::Tanh : StepOp::Logistic, sum);
  }
  const int64_t next_c =
      e.make(StepOp::Add, e.make(StepOp::Multiply, gates[1], from_c), e.make(StepOp::Multiply, gates[0], gates[2]));
  const int64_t next_h = e.make(StepOp::Multiply, gates[3], e.make(StepOp::Tanh, next_c));
  e.ends(h, next_h);
  e.ends(c, next_c);
  e.written(next_h);
  return e;
}

// The reset gate before the product, so that a step has two phases, and a second cell of another width on top of the first.
Example gated(int64_t steps, int64_t rows, int64_t width, int64_t above, bool backwards = false) {
  Example e(steps, rows, backwards);
  const int64_t h = e.state(width), g = e.state(above);
  const int64_t from_h = e.carried(h, width), from_g = e.carried(g, above);
  const auto gate = [&](int64_t left) {
    const int64_t sum = e.make(StepOp::Add, e.dot(left, e.matrix(width, width), 0, width, width), e.sequence(width));
    return e.make(StepOp::Logistic, sum);
  };
  const int64_t reset = gate(from_h), update = gate(from_h);
  const int64_t inside = e.make(StepOp::Multiply, reset, from_h);
  const int64_t candidate = e.make(
      StepOp::Tanh, e.make(StepOp::Subtract, e.dot(inside, e.matrix(width, width), 0, width, width), e.bias(width)));
  const int64_t kept = e.make(StepOp::Multiply, update, from_h);
  const int64_t others = e.make(StepOp::Subtract, e.number(1, width), update);
  int64_t next_h = e.make(StepOp::Add, kept, e.make(StepOp::Multiply, others, candidate));
  // Where a row is masked, its state stays.
  next_h = e.make(StepOp::Select, e.make(StepOp::Less, e.of_rows(width), e.number(0.5, width)), next_h, from_h);
  const int64_t from_below = e.dot(next_h, e.matrix(width, above), 0, above, above, true);
  const int64_t from_itself = e.dot(from_g, e.matrix(above, above), 0, above, above);
  const int64_t next_g = e.make(StepOp::Maximum, e.make(StepOp::Add, from_below, from_itself), e.number(-0.5, above));
  e.ends(h, next_h);
  e.ends(g, next_g);
  e.written(next_g);
  e.written(reset);
  return e;
}

struct Kernel {
  const char* name;
  const RecurrenceKernel& kernel;
  bool runs;
};

std::vector<Kernel> kernels() {
  return {{"avx512", kRecurrenceAvx512, has_avx512_kernels()},
          {"avx2", kRecurrenceAvx2, has_avx2_kernels()},
          {"portable", kRecurrencePortable, true}};
}

void one_after_another(size_t count, const std::function<void(size_t)>& work) {
  for (size_t i = 0; i < count; ++i) work(i);
}
void last_first(size_t count, const std::function<void(size_t)>& work) {
  for (size_t i = count; i-- > 0;) work(i);
}

std::vector<std::vector<float>> run(const Example& e, const RecurrenceKernel& kernel, int threads = 1,
                                    const ForEach& for_each = {}) {
  const RecurrencePlan plan = RecurrencePlan::from_text(e.plan.text());
  std::vector<const float*> operands;
  for (const auto& operand : e.operands) operands.push_back(operand.data());
  std::vector<std::vector<float>> results;
  for (const int64_t extent : plan.result_extents()) results.emplace_back(extent, -7.0F);
  std::vector<float*> pointers;
  for (auto& result : results) pointers.push_back(result.data());
  Recurrence(plan, kernel).run(operands.data(), pointers.data(), threads, for_each);
  return results;
}

double worst(const std::vector<Numbers>& expected, const std::vector<std::vector<float>>& found) {
  double worst = expected.size() == found.size() ? 0 : kInfinity;
  for (size_t r = 0; r < std::min(expected.size(), found.size()); ++r)
    for (size_t i = 0; i < expected[r].size(); ++i) {
      if (std::isnan(expected[r][i]) && std::isnan(found[r][i])) continue;
      const double difference = std::fabs(expected[r][i] - found[r][i]);
      worst = std::isnan(difference) ? kInfinity : std::max(worst, difference);
    }
  return worst;
}

// A state of which one half is summed over and the other is not.
Example halves(int64_t steps, int64_t rows, int64_t width) {
  Example e(steps, rows, false);
  const int64_t s = e.state(2 * width);
  const int64_t first = e.carried(s, width), second = e.carried(s, width, width);
  const int64_t sum =
      e.make(StepOp::Add, e.dot(second, e.matrix(width, 2 * width), 0, 2 * width, 2 * width), e.sequence(2 * width));
  e.ends(s, e.make(StepOp::Tanh, sum));
  e.written(e.make(StepOp::Subtract, first, e.make(StepOp::Absolute, second)));
  return e;
}

}  // namespace

TEST_CASE("recurrent loops are right for all sizes by each width of vectors", "[kernels]") {
  for (const auto& [steps, rows, width] : {std::array<int64_t, 3>{3, 1, 1},
                                           {1, 2, 16},
                                           {5, 4, 33},
                                           {4, 13, 70},
                                           {2, 12, 64},
                                           {3, 30, 48},
                                           {6, 3, 200},
                                           {0, 2, 5}})
    for (const bool backwards : {false, true}) {
      const Example examples[] = {lstm(steps, rows, width, backwards, backwards),
                                  gated(steps, rows, width, width / 2 + 1, backwards), halves(steps, rows, width)};
      for (const Example& e : examples) {
        const auto expected = Reference(e).results();
        for (const Kernel& k : kernels()) {
          if (!k.runs) continue;
          INFO(k.name << ": " << steps << " x " << rows << " x " << width << (backwards ? " backwards" : ""));
          CHECK(worst(expected, run(e, k.kernel)) < 2e-6);
        }
      }
    }
}

TEST_CASE("recurrent loops are the same whichever threads come, and when", "[kernels]") {
  const ForEach orders[] = {one_after_another, last_first, in_threads,
                            [](size_t, const std::function<void(size_t)>& work) { work(1); }};
  for (const Example& e : {lstm(20, 4, 160), gated(15, 13, 100, 130, true)}) {
    const auto expected = run(e, kRecurrencePortable);
    for (const int threads : {1, 2, 4})
      for (const ForEach& order : orders) {
        INFO(threads << " threads");
        CHECK(run(e, kRecurrencePortable, threads, order) == expected);
      }
  }
}

TEST_CASE("steady weights of recurrent loops are brought into order once", "[kernels]") {
  Example e = lstm(5, 4, 40);
  e.plan.steady = true;
  const Recurrence recurrence(RecurrencePlan::from_text(e.plan.text()), kRecurrencePortable);
  const auto now = [&] {
    std::vector<const float*> operands;
    for (const auto& operand : e.operands) operands.push_back(operand.data());
    std::vector<float> h(4 * 40), c(4 * 40), written(5 * 4 * 40);
    float* results[] = {h.data(), c.data(), written.data()};
    recurrence.run(operands.data(), results, 1, {});
    return h;
  };
  const std::vector<float> first = now();
  CHECK(first == run(e, kRecurrencePortable)[0]);
  std::vector<float>& matrix = e.operands[2];
  REQUIRE(matrix.size() == 40 * 160);
  matrix[0] += 1;
  CHECK(now() == first);
  weights_changed();
  const std::vector<float> changed = now();
  CHECK(changed != first);
  CHECK(changed == run(e, kRecurrencePortable)[0]);
  matrix[0] -= 1;
  matrix = std::vector<float>(matrix);  // elsewhere in memory
  CHECK(now() != changed);
}

TEST_CASE("operations of recurrent loops on all kinds of numbers", "[kernels]") {
  const std::vector<float> numbers = {0.0F, 1e-30F, 1e-5F, 0.0003F, 0.5F,  1.0F,   2.5F,      7.8F,
                                      8.5F, 20.0F,  80.0F, 88.5F,   88.8F, 200.0F, kInfinity, kNan};
  std::vector<float> all;
  for (const float number : numbers) all.insert(all.end(), {number, -number});
  const auto width = static_cast<int64_t>(all.size());
  for (int op = static_cast<int>(StepOp::Negate); op < kStepOps; ++op) {
    Example e(1, width, false);
    const int64_t s = e.state(width);
    e.operands[0].assign(width * width, 0);
    const int64_t a = e.value({.op = StepOp::Read, .columns = width, .array = {e.array(width, 1), 0, 0, 0, 1}});
    const int64_t b = e.value({.op = StepOp::Read, .columns = width, .array = {e.array(width, 1), 0, 0, 1, 0}});
    e.operands[1] = e.operands[2] = all;
    const int operands = elementwise_operands(static_cast<StepOp>(op));
    e.ends(s, e.make(static_cast<StepOp>(op), a, operands > 1 ? b : -1, operands > 2 ? a : -1));
    const Numbers expected = Reference(e).results()[0];
    for (const Kernel& k : kernels()) {
      if (!k.runs) continue;
      const std::vector<float> found = run(e, k.kernel)[0];
      for (size_t i = 0; i < expected.size(); ++i) {
        const auto nearest = static_cast<float>(expected[i]);
        INFO(k.name << ": operation " << op << " of " << all[i % width] << " and " << all[i / width] << " gives "
                    << found[i] << ", not " << nearest);
        if (std::isnan(nearest)) {
          CHECK(std::isnan(found[i]));
        } else if (std::isinf(nearest)) {
          CHECK(found[i] == nearest);
        } else {
          CHECK(std::fabs(found[i] - nearest) <= 4e-7 * std::fabs(nearest) + 1.2e-38);
        }
      }
    }
  }
}

TEST_CASE("a recurrent loop as text, and what is refused", "[kernels]") {
  const RecurrencePlan plan = gated(7, 3, 20, 11, true).plan;
  CHECK(RecurrencePlan::from_text(plan.text()).text() == plan.text());
  CHECK(plan.operand_extents()[0] == 3 * 20);
  CHECK(plan.result_extents() == std::vector<int64_t>{3 * 20, 3 * 11, 7 * 3 * 11, 7 * 3 * 20});
  CHECK_THROWS_WITH(RecurrencePlan::from_text("{}"), Catch::Contains("not the configuration"));
  CHECK_THROWS_WITH(RecurrencePlan::from_text("5 6"), Catch::Contains("not the configuration"));
  const std::function<void(RecurrencePlan&)> changes[] = {
      [](RecurrencePlan& p) { p.steps = -1; },
      [](RecurrencePlan& p) { p.rows = 0; },
      [](RecurrencePlan& p) { p.states.clear(); },
      [](RecurrencePlan& p) { p.states[0].next = 99; },
      [](RecurrencePlan& p) { p.states[0].columns = 21; },
      [](RecurrencePlan& p) { p.states[0].start.first = -1; },
      [](RecurrencePlan& p) { p.written[0].value = -1; },
      [](RecurrencePlan& p) {
        p.written[0].array.first -= 1;
      },  // backwards, so that the last step would be before the array
      [](RecurrencePlan& p) { p.values[0].state = 2; },
      [](RecurrencePlan& p) { p.values[0].from = 1; },
      [](RecurrencePlan& p) { p.values.back().of[0] = static_cast<int64_t>(p.values.size()) - 1; },
      [](RecurrencePlan& p) { p.values.back().columns = 12; },
      [](RecurrencePlan& p) { p.values.back().of[2] = 0; },
      [](RecurrencePlan& p) { p.values[2].array.row = int64_t{1} << 60; },
      // Operands of what has none.
      [](RecurrencePlan& p) {
        p.values.push_back({.op = StepOp::Number, .columns = 1, .of = {100000000, -1, -1}, .array = {}});
      },
      [](RecurrencePlan& p) { p.values[0].of[1] = 0; },
      // More than can be allocated, though strides of 0 make every array one element.
      [](RecurrencePlan& p) {
        p.rows = int64_t{1} << 39;
        for (CarriedState& s : p.states) s.start.row = s.end.row = 0;
      },
      [](RecurrencePlan& p) { p.values.push_back({.op = StepOp::Number, .columns = int64_t{1} << 39, .array = {}}); },
      // Rows of a result one on the other.
      [](RecurrencePlan& p) { p.states[0].end.row = 0; },
      [](RecurrencePlan& p) { p.written[0].array.step = 0; },
  };
  for (const auto& change : changes) {
    RecurrencePlan changed = plan;
    change(changed);
    INFO(changed.text());
    CHECK_THROWS_AS(RecurrencePlan::from_text(changed.text()), Error);
  }
}

}  // namespace hone
