#include "kernels/attention.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/error.h"
#include "kernels/instruction_sets.h"
#include "tests/kernels/in_threads.h"

namespace hone {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Example {
  AttentionPlan plan;
  std::vector<float> query, key, value, bias;
  std::vector<uint8_t> mask;

  std::vector<const void*> operands() const {
    std::vector<const void*> all = {query.data(), key.data(), value.data()};
    for (const AttentionStep& step : plan.steps) {
      if (step.has_values) all.push_back(bias.data());
      if (step.has_which) all.push_back(mask.data());
    }
    return all;
  }
};

// [batch, rows, columns], in this order or with rows and columns exchanged.
AttentionArray ordered(int64_t rows, int64_t columns, bool exchanged = false) {
  return exchanged ? AttentionArray{{rows * columns}, 1, rows} : AttentionArray{{rows * columns}, columns, 1};
}

Example example(int64_t batch, int64_t queries, int64_t keys, int64_t depth, int64_t features, bool exchanged = false) {
  Example e;
  e.plan = {{batch},
            queries,
            keys,
            depth,
            features,
            ordered(queries, depth, exchanged),
            ordered(keys, depth, exchanged),
            ordered(keys, features, exchanged),
            ordered(queries, features, exchanged),
            1 / std::sqrt(static_cast<float>(depth)),
            {}};
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  const auto fill = [&](std::vector<float>& values, int64_t count) {
    values.resize(count);
    for (float& value : values) value = normal(generator);
  };
  fill(e.query, batch * queries * depth);
  fill(e.key, batch * keys * depth);
  fill(e.value, batch * keys * features);
  fill(e.bias, batch * queries * keys);
  for (size_t i = 0; i < e.bias.size(); ++i) e.mask.push_back(generator() % 3 != 0 ? 1 + generator() % 2 : 0);
  return e;
}

double element(const std::vector<float>& values, const AttentionArray& at, int64_t b, int64_t row, int64_t column) {
  return values[b * at.batch[0] + row * at.row + column * at.column];
}

double score(const Example& e, int64_t b, int64_t m, int64_t n) {
  double sum = 0;
  for (int64_t k = 0; k < e.plan.depth; ++k)
    sum += element(e.query, e.plan.query, b, m, k) * element(e.key, e.plan.key, b, n, k);
  sum *= e.plan.scale;
  for (const AttentionStep& step : e.plan.steps) {
    const bool holds =
        !step.has_which ||
        (e.mask[b * step.which.batch[0] + m * step.which.row + n * step.which.column] != 0) != step.inverse;
    const double value = step.has_values ? element(e.bias, step.values, b, m, n) : step.number;
    if (step.kind == ScoreStep::Multiply) sum *= value;
    if (step.kind == ScoreStep::Add) sum += holds ? value : step.other;
    if (step.kind == ScoreStep::Keep && !holds) sum = step.other;
  }
  return sum;
}

std::vector<float> run(const Example& e, int threads = 1) {
  std::vector<float> output(e.plan.batch[0] * e.plan.queries * e.plan.features);
  size_t parts = 0;  // that were asked for
  compute_attention(AttentionPlan::from_text(e.plan.text()), e.operands().data(), output.data(), threads,
                    [&](size_t count, const std::function<void(size_t)>& work) {
                      parts = count;
                      in_threads(count, work);
                    });
  if (threads > 1) CHECK(parts > 1);
  return output;
}

// The largest difference from sums in f64.
double worst(const Example& e, const std::vector<float>& output) {
  double worst = 0;
  for (int64_t b = 0; b < e.plan.batch[0]; ++b)
    for (int64_t m = 0; m < e.plan.queries; ++m) {
      std::vector<double> scores;
      double best = -kInfinity, sum = 0;
      for (int64_t n = 0; n < e.plan.keys; ++n) best = std::max(best, scores.emplace_back(score(e, b, m, n)));
      for (double& s : scores) sum += s = std::exp(s - best);
      for (int64_t f = 0; f < e.plan.features; ++f) {
        double expected = 0;
        for (int64_t n = 0; n < e.plan.keys; ++n) expected += scores[n] / sum * element(e.value, e.plan.value, b, n, f);
        const double found = element(output, e.plan.output, b, m, f);
        if (std::isnan(expected) && std::isnan(found)) continue;
        const double difference = std::fabs(found - expected);
        worst = std::isnan(difference) ? kInfinity : std::max(worst, difference);
      }
    }
  return worst;
}

struct Kernel {
  const char* name;
  const AttentionKernel& kernel;
  bool runs;
};

std::vector<Kernel> kernels() {
  return {{"avx512", kAttentionAvx512, has_avx512_kernels()},
          {"avx2", kAttentionAvx2, has_avx2_kernels()},
          {"portable", kAttentionPortable, true}};
}

// The steps of an example for the first row of the first element of the batch.
std::vector<ScoreStep> steps_of(const Example& e) {
  std::vector<ScoreStep> steps;
  for (const AttentionStep& step : e.plan.steps) {
    ScoreStep at{.kind = step.kind, .inverse = step.inverse, .number = step.number, .other = step.other};
    if (step.has_values) {
      at.values = e.bias.data();
      at.values_row = step.values.row, at.values_column = step.values.column;
    }
    if (step.has_which) {
      at.which = e.mask.data();
      at.which_row = step.which.row, at.which_column = step.which.column;
    }
    steps.push_back(at);
  }
  return steps;
}

// The result of an example of one element of the batch.
std::vector<float> run_kernel(const Example& e, const AttentionKernel& kernel) {
  const AttentionPlan& p = e.plan;
  const std::vector<ScoreStep> steps = steps_of(e);
  std::vector<float> output(p.queries * p.features);
  AttentionRows rows;
  rows.query = e.query.data(), rows.key = e.key.data(), rows.value = e.value.data(), rows.output = output.data();
  rows.query_row = p.query.row, rows.query_depth = p.query.column;
  rows.key_row = p.key.row, rows.key_depth = p.key.column;
  rows.value_row = p.value.row, rows.value_feature = p.value.column;
  rows.output_row = p.output.row, rows.output_feature = p.output.column;
  rows.rows = p.queries, rows.keys = p.keys, rows.depth = p.depth, rows.features = p.features;
  rows.scale = p.scale;
  rows.steps = steps.data();
  rows.step_count = static_cast<int64_t>(steps.size());
  std::vector<float> scratch(kernel.scratch(rows) + 16);
  kernel.compute(rows, reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64));
  return output;
}

}  // namespace

TEST_CASE("attention is right for all sizes and orders", "[kernels]") {
  for (const bool exchanged : {false, true})
    for (const auto& [queries, keys, depth, features] : {std::array<int64_t, 4>{1, 1, 1, 1},
                                                         {12, 32, 16, 32},
                                                         {13, 33, 7, 5},
                                                         {40, 600, 64, 64},
                                                         {5, 1100, 20, 48},
                                                         {100, 17, 33, 17},
                                                         {3, 512, 4, 100}}) {
      const Example e = example(2, queries, keys, depth, features, exchanged);
      INFO(queries << " x " << keys << " x " << depth << " x " << features << (exchanged ? " exchanged" : ""));
      CHECK(worst(e, run(e)) < 2e-6);
    }
}

TEST_CASE("attention by each width of vectors", "[kernels]") {
  const int64_t queries = 30, keys = 701;
  const AttentionArray both{{0}, keys, 1};
  struct Case {
    std::vector<AttentionStep> steps;
    double most;  // difference
  };
  for (const bool exchanged : {false, true})
    for (const bool inverse : {false, true}) {
      const AttentionStep bias{.kind = ScoreStep::Add, .has_values = true, .values = both};
      AttentionStep keep{.kind = ScoreStep::Keep, .inverse = inverse, .has_which = true, .which = both, .other = -1e9F};
      AttentionStep add = keep;
      add.kind = ScoreStep::Add;
      AttentionStep little = keep;
      little.other = -5;  // hidden scores take part: sums of many small terms, which are less exact
      const Case cases[] = {{{}, 2e-6}, {{bias, keep}, 2e-6}, {{add}, 2e-6}, {{bias, little}, 2e-5}};
      for (const Case& c : cases) {
        Example e = example(1, queries, keys, 20, 37, exchanged);
        e.plan.steps = c.steps;
        for (int64_t m = 0; m < queries; ++m)
          for (int64_t n = 0; n < keys; ++n) e.mask[m * keys + n] = (n <= 20 * m + 3) != inverse;
        for (const Kernel& k : kernels()) {
          if (!k.runs) continue;
          INFO(k.name << (exchanged ? " exchanged " : " ") << e.plan.text());
          CHECK(worst(e, run_kernel(e, k.kernel)) < c.most);
        }
      }
    }
}

TEST_CASE("attention with steps before the softmax, of arrays and masks that are spread or not", "[kernels]") {
  const int64_t queries = 21, keys = 75, both = queries * keys;
  const AttentionArray arrays[] = {{{both}, keys, 1}, {{0}, 0, 1}, {{keys}, 0, 1}, {{queries}, 1, 0}, {{0}, 0, 0}};
  for (const AttentionArray& array : arrays)
    for (const bool inverse : {false, true}) {
      const AttentionStep steps[] = {
          {.kind = ScoreStep::Add, .has_values = true, .values = array},
          {.kind = ScoreStep::Multiply, .has_values = true, .values = array},
          {.kind = ScoreStep::Multiply, .number = 0.3F},
          {.kind = ScoreStep::Keep, .inverse = inverse, .has_which = true, .which = array, .other = -3},
          {.kind = ScoreStep::Add, .inverse = inverse, .has_which = true, .which = array, .number = 1, .other = -9},
          {.kind = ScoreStep::Add,
           .inverse = inverse,
           .has_values = true,
           .has_which = true,
           .values = array,
           .which = array,
           .other = -2},
      };
      for (const AttentionStep& step : steps) {
        Example e = example(2, queries, keys, 16, 8);
        e.plan.steps = {step, {.kind = ScoreStep::Add, .number = 0.5F}};
        INFO(e.plan.text());
        CHECK(worst(e, run(e)) < 2e-6);
      }
    }
}

TEST_CASE("attention of scores that are infinite or no numbers", "[kernels]") {
  Example e = example(1, 14, 1200, 8, 8);
  e.plan.steps = {{.kind = ScoreStep::Add, .has_values = true, .values = {{0}, 1200, 1}}};
  for (int64_t n = 0; n < 1200; ++n) {
    e.bias[n] = -kInfinity;                        // a row without any score has no result
    e.bias[1200 + n] = n < 1100 ? -kInfinity : 0;  // nor have the first blocks of keys
    e.bias[2400 + n] = n >= 3 ? -kInfinity : 0;
  }
  e.bias[3 * 1200 + 700] = kInfinity;
  e.bias[4 * 1200 + 5] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> output = run(e);
  for (const int row : {0, 3, 4}) CHECK(std::isnan(output[row * 8]));
  for (const int row : {1, 2, 5}) CHECK_FALSE(std::isnan(output[row * 8]));
  CHECK(worst(e, output) < 2e-6);
}

TEST_CASE("attention with causal masks is right where hidden keys are left out and where they must not be",
          "[kernels]") {
  const int64_t rows = 700;
  const auto causal = [&](AttentionStep step) {
    Example e = example(1, rows, rows, 8, 8);
    for (int64_t m = 0; m < rows; ++m)
      for (int64_t n = 0; n < rows; ++n) e.mask[m * rows + n] = (n <= m) != step.inverse;
    step.has_which = true;
    step.which = {{0}, rows, 1};
    e.plan.steps = {step};
    return e;
  };
  for (const bool inverse : {false, true})
    for (const float other : {-1e9F, -kInfinity, -5.0F, 200.0F}) {
      INFO(other);
      Example kept = causal({.kind = ScoreStep::Keep, .inverse = inverse, .other = other});
      CHECK(worst(kept, run(kept)) < 2e-6);
      if (other == 200) continue;
      Example added = causal({.kind = ScoreStep::Add, .inverse = inverse, .number = 0, .other = other});
      CHECK(worst(added, run(added)) < 2e-6);
      added.query[5 * 8] = 1e9F;  // the hidden scores of a row are not below its others
      CHECK(worst(added, run(added)) < 2e-6);
    }
  // What is hidden takes part where it is not finite: 0 times it is no number.
  Example last = causal({.kind = ScoreStep::Keep, .other = -1e9F});
  last.value[(rows - 1) * 8] = kInfinity;
  const std::vector<float> output = run(last);
  CHECK(std::isnan(output[500 * 8]));
  CHECK_FALSE(std::isnan(output[500 * 8 + 1]));
  Example added = causal({.kind = ScoreStep::Add, .other = -1e9F});
  added.key[(rows - 1) * 8] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(run(added)[500 * 8]));
}

TEST_CASE("attention by several threads gives what one gives", "[kernels]") {
  for (const int64_t batch : {1, 3}) {
    Example e = example(batch, 203, 90, 16, 24);
    e.plan.steps = {{.kind = ScoreStep::Keep, .has_which = true, .which = {{203 * 90}, 90, 1}, .other = -1e9F}};
    const std::vector<float> one = run(e);
    for (const int threads : {2, 3, 8}) CHECK(run(e, threads) == one);
  }
}

TEST_CASE("configurations of attention that are none are refused", "[kernels]") {
  Example e = example(2, 3, 4, 5, 6);
  CHECK(e.plan.extents() == std::vector<int64_t>{30, 40, 48, 36});
  for (const char* text : {"", "{}", "[]", "1 2 3"}) CHECK_THROWS_AS(AttentionPlan::from_text(text), Error);
  e.plan.keys = 0;
  CHECK_THROWS_AS(AttentionPlan::from_text(e.plan.text()), Error);
  e.plan.keys = 4;
  e.plan.key.batch = {};
  CHECK_THROWS_AS(AttentionPlan::from_text(e.plan.text()), Error);
  e.plan.key.batch = {20};
  e.plan.steps = {{.has_values = true, .values = {{0}, 0, 2}}};
  CHECK_THROWS_AS(AttentionPlan::from_text(e.plan.text()), Error);
}

}  // namespace hone
