#include "kernels/dnnl_operation.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "base/error.h"
#include "kernels/dnnl_library.h"
#include "kernels/kept_weights.h"
#include "tests/kernels/in_threads.h"
#include "tests/skip.h"

namespace hone {
namespace {

using Sizes = std::vector<int64_t>;

bool no_dnnl() {
  if (dnnl_library() != nullptr) return false;
  skip_case("oneDNN is not installed");
  return true;
}

DnnlArray dense(const Sizes& sizes) {
  DnnlArray array{sizes, Sizes(sizes.size(), 1)};
  for (int d = static_cast<int>(sizes.size()) - 2; d >= 0; --d) array.strides[d] = array.strides[d + 1] * sizes[d + 1];
  return array;
}

// Images as [batch, row, column, channel].
DnnlArray image(int64_t batch, int64_t channels, int64_t rows, int64_t columns) {
  return {{batch, channels, rows, columns}, {rows * columns * channels, 1, columns * channels, channels}};
}

struct Window {
  int64_t size = 3, stride = 1, dilation = 1, low = 1, high = 1;
};

DnnlPlan convolution(int64_t batch, int64_t in, int64_t rows, int64_t columns, int64_t out, int64_t groups,
                     const Window& w) {
  const auto result = [&](int64_t n) { return (n + w.low + w.high - (w.size - 1) * w.dilation - 1) / w.stride + 1; };
  DnnlPlan plan;
  plan.input = image(batch, in, rows, columns);
  plan.output = image(batch, out, result(rows), result(columns));
  plan.weights =
      groups == 1 ? dense({out, in, w.size, w.size}) : dense({groups, out / groups, in / groups, w.size, w.size});
  plan.strides = {w.stride, w.stride};
  plan.dilation = {w.dilation, w.dilation};
  plan.pad_low = {w.low, w.low};
  plan.pad_high = {w.high, w.high};
  plan.groups = groups;
  return plan;
}

DnnlPlan product(int64_t rows, int64_t depth, int64_t columns, bool by_column) {
  DnnlPlan plan;
  plan.input = dense({rows, depth});
  plan.output = dense({rows, columns});
  plan.weights = {{depth, columns}, by_column ? Sizes{1, depth} : Sizes{columns, 1}};
  return plan;
}

size_t elements(const DnnlArray& array) {
  size_t count = 1;
  for (const int64_t size : array.sizes) count *= size;
  return count;
}

std::vector<float> drawn(size_t count, std::mt19937& generator) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

// Sums in f64 at the places of the result.
std::vector<double> expected(const DnnlPlan& p, const std::vector<float>& x, const std::vector<float>& w) {
  std::vector<double> y(elements(p.output));
  if (!p.is_convolution()) {
    for (int64_t m = 0; m < p.output.sizes[0]; ++m)
      for (int64_t n = 0; n < p.output.sizes[1]; ++n)
        for (int64_t k = 0; k < p.input.sizes[1]; ++k)
          y[m * p.output.strides[0] + n] +=
              double{x[m * p.input.strides[0] + k]} * w[k * p.weights.strides[0] + n * p.weights.strides[1]];
    return y;
  }
  const int64_t out_each = p.output.sizes[1] / p.groups, in_each = p.input.sizes[1] / p.groups,
                size = p.weights.sizes.back();
  const auto& i = p.input;
  const auto& o = p.output;
  for (int64_t n = 0; n < o.sizes[0]; ++n)
    for (int64_t c = 0; c < o.sizes[1]; ++c)
      for (int64_t r = 0; r < o.sizes[2]; ++r)
        for (int64_t q = 0; q < o.sizes[3]; ++q)
          for (int64_t k = 0; k < in_each; ++k)
            for (int64_t a = 0; a < size; ++a)
              for (int64_t b = 0; b < size; ++b) {
                const int64_t row = r * p.strides[0] - p.pad_low[0] + a * p.dilation[0],
                              column = q * p.strides[1] - p.pad_low[1] + b * p.dilation[1];
                if (row < 0 || row >= i.sizes[2] || column < 0 || column >= i.sizes[3]) continue;
                const int64_t from = n * i.strides[0] + (c / out_each * in_each + k) * i.strides[1] +
                                     row * i.strides[2] + column * i.strides[3];
                y[n * o.strides[0] + c * o.strides[1] + r * o.strides[2] + q * o.strides[3]] +=
                    double{x[from]} * w[((c * in_each + k) * size + a) * size + b];
              }
  return y;
}

std::vector<float> computed(DnnlOperation& operation, const DnnlPlan& plan, std::vector<const void*> arguments) {
  std::vector<float> y(elements(plan.output), NAN);
  operation.run(arguments.data(), arguments.size(), y.data(), in_threads);
  return y;
}

double worst(const std::vector<float>& found, const std::vector<double>& wanted) {
  double worst = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const double error = std::fabs(found[i] - wanted[i]);
    worst = std::isnan(error) ? 1e300 : std::max(worst, error);
  }
  return worst;
}

void check_plan(DnnlPlan plan, std::mt19937& generator) {
  const std::vector<float> x = drawn(elements(plan.input), generator), w = drawn(elements(plan.weights), generator);
  const std::vector<double> wanted = expected(plan, x, w);
  for (const int threads : {1, 2, 3}) {
    plan.threads = threads;
    INFO(plan.text());
    DnnlOperation operation(DnnlPlan::from_text(plan.text()));
    CHECK(worst(computed(operation, plan, {x.data(), w.data()}), wanted) < 1e-4);
  }
}

}  // namespace

TEST_CASE("oneDNN computes convolutions of many windows, by one thread or several", "[kernels]") {
  if (no_dnnl()) return;
  std::mt19937 generator(1);
  check_plan(convolution(1, 16, 9, 7, 32, 1, {}), generator);
  check_plan(convolution(2, 3, 12, 12, 8, 1, {7, 2, 1, 3, 3}), generator);
  check_plan(convolution(1, 24, 8, 8, 24, 24, {}), generator);
  check_plan(convolution(1, 24, 9, 8, 48, 3, {3, 2, 1, 0, 1}), generator);
  check_plan(convolution(3, 8, 10, 10, 5, 1, {3, 1, 2, 2, 2}), generator);
  check_plan(convolution(1, 33, 5, 5, 17, 1, {1, 1, 1, 0, 0}), generator);
  check_plan(convolution(1, 4, 2, 2, 4, 1, {3, 1, 1, 4, 4}), generator);  // rows that read padding alone
}

TEST_CASE("oneDNN computes products of matrices, stored either way", "[kernels]") {
  if (no_dnnl()) return;
  std::mt19937 generator(2);
  for (const bool by_column : {false, true})
    for (const int64_t rows : {1, 5, 70}) check_plan(product(rows, 37, 50, by_column), generator);
}

TEST_CASE("what follows the operation is done to each element of its result, in order", "[kernels]") {
  if (no_dnnl()) return;
  std::mt19937 generator(3);
  for (DnnlPlan plan : {convolution(1, 16, 6, 6, 32, 1, {}), product(40, 20, 32, false)}) {
    const bool bias = GENERATE(false, true);
    if (bias) plan.post_ops.push_back({"add", PostOperand::Channel});
    plan.post_ops.push_back({"mul", PostOperand::Channel});
    plan.post_ops.push_back({"sub", PostOperand::Full});
    plan.post_ops.push_back({"linear", PostOperand::None, 0.5, 1});
    plan.post_ops.push_back({"clip", PostOperand::None, -0.25, 6});
    plan.threads = 2;
    const auto channels = static_cast<size_t>(plan.output.sizes[1]);
    const std::vector<float> x = drawn(elements(plan.input), generator), w = drawn(elements(plan.weights), generator),
                             b = drawn(channels, generator), scale = drawn(channels, generator),
                             other = drawn(elements(plan.output), generator);
    std::vector<double> wanted = expected(plan, x, w);
    for (size_t i = 0; i < wanted.size(); ++i) {  // channels are innermost
      const double sum = wanted[i] + (bias ? b[i % channels] : 0);
      wanted[i] = std::clamp(0.5 * (sum * scale[i % channels] - other[i]) + 1, -0.25, 6.0);
    }
    std::vector<const void*> arguments = {x.data(), w.data(), scale.data(), other.data()};
    if (bias) arguments.insert(arguments.begin() + 2, b.data());
    DnnlOperation operation(DnnlPlan::from_text(plan.text()));
    CHECK(worst(computed(operation, plan, arguments), wanted) < 1e-4);
    arguments.pop_back();
    CHECK_THROWS_AS(computed(operation, plan, arguments), Error);
  }
}

TEST_CASE("activations are oneDNN's, and pass on what is not a number", "[kernels]") {
  if (no_dnnl()) return;
  struct Function {
    PostOp step;
    double (*value)(double);
  };
  const auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
  const Function functions[] = {
      {{"logistic"}, logistic},
      {{"swish", PostOperand::None, 1.702}, [](double x) { return x / (1 + std::exp(-1.702 * x)); }},
      {{"gelu_erf"}, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
      {{"gelu_tanh"}, [](double x) { return x / 2 * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x))); }},
      {{"hardswish", PostOperand::None, 1.0 / 6, 0.5}, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {{"relu", PostOperand::None, 0.2}, [](double x) { return x > 0 ? x : 0.2 * x; }},
      {{"elu", PostOperand::None, 1.5}, [](double x) { return x > 0 ? x : 1.5 * std::expm1(x); }},
      {{"soft_relu", PostOperand::None, 1}, [](double x) { return std::log1p(std::exp(x)); }},
      {{"mish"}, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }}};
  std::mt19937 generator(6);
  for (const Function& f : functions) {
    INFO(f.step.name);
    DnnlPlan plan = product(9, 33, 20, false);
    std::vector<float> x = drawn(elements(plan.input), generator);
    const std::vector<float> w = drawn(elements(plan.weights), generator);
    std::vector<double> wanted = expected(plan, x, w);
    for (double& value : wanted) value = f.value(value);
    plan.post_ops = {f.step};
    DnnlOperation operation(plan);
    CHECK(worst(computed(operation, plan, {x.data(), w.data()}), wanted) < 2e-5);
    x[0] = NAN;
    const std::vector<float> found = computed(operation, plan, {x.data(), w.data()});
    CHECK(std::isnan(found[0]));
    CHECK(std::isfinite(found[20]));
  }
}

TEST_CASE("steady weights are brought into order again only when weights have changed", "[kernels]") {
  if (no_dnnl()) return;
  std::mt19937 generator(4);
  for (const bool steady : {false, true}) {
    DnnlPlan plan = convolution(1, 16, 6, 6, 32, 1, {});
    plan.steady = steady;
    const std::vector<float> x = drawn(elements(plan.input), generator);
    std::vector<float> w = drawn(elements(plan.weights), generator);
    DnnlOperation operation(plan);
    const std::vector<double> before = expected(plan, x, w);
    CHECK(worst(computed(operation, plan, {x.data(), w.data()}), before) < 1e-4);
    for (float& value : w) value = -value;
    const std::vector<double> after = expected(plan, x, w);
    CHECK(worst(computed(operation, plan, {x.data(), w.data()}), steady ? before : after) < 1e-4);
    weights_changed();
    CHECK(worst(computed(operation, plan, {x.data(), w.data()}), after) < 1e-4);
  }
}

TEST_CASE("copies of weights that kernels keep are known while they live", "[kernels]") {
  const auto bytes = [] {
    size_t sum = 0;
    for_each_kept([&](const void*, size_t bytes) { sum += bytes; });
    return sum;
  };
  const size_t before = bytes();
  {
    const KeptWeights kept(1000);
    CHECK(reinterpret_cast<uintptr_t>(kept.data()) % 64 == 0);
    CHECK(bytes() == before + 1000);
  }
  CHECK(bytes() == before);
}

TEST_CASE("configurations of operations for oneDNN that are none are refused", "[kernels]") {
  const DnnlPlan plan = convolution(1, 16, 6, 6, 32, 1, {});
  CHECK_NOTHROW(DnnlPlan::from_text(plan.text()));
  for (const char* text : {"", "{}", "[]", "7"}) CHECK_THROWS_AS(DnnlPlan::from_text(text), Error);
  DnnlPlan wrong = plan;
  wrong.pad_low = {1};
  CHECK_THROWS_AS(DnnlPlan::from_text(wrong.text()), Error);
  wrong = plan;
  wrong.input.sizes[0] = 0;
  CHECK_THROWS_AS(DnnlPlan::from_text(wrong.text()), Error);
  if (no_dnnl()) return;
  wrong = plan;
  wrong.post_ops = {{"cosine"}};
  CHECK_THROWS_AS(DnnlOperation(wrong), Error);
}

TEST_CASE("oneDNN multiplies weights of f16, which become f32 once while they are steady", "[kernels]") {
  if (no_dnnl()) return;
  for (const bool by_column : {false, true})
    for (const bool steady : {false, true}) {
      DnnlPlan plan = product(2, 4, 3, by_column);
      plan.weights_type = "f16";
      plan.steady = steady;
      DnnlOperation operation(DnnlPlan::from_text(plan.text()));
      // Normal and subnormal numbers to the ends of their ranges, all finite: 0 times an infinity makes a sum NaN.
      const std::vector<uint16_t> weights = {0x3C00, 0xC000, 0x0001, 0x03FF, 0x7BFF, 0x3800,
                                             0x0400, 0x8001, 0,      0xFBFF, 0x8000, 0x3C01};
      const std::vector<float> values = {1,        -2,        0x1p-24f, 1023 * 0x1p-24f, 65504, 0.5f,
                                         0x1p-14f, -0x1p-24f, 0,        -65504,          -0.0f, 1 + 0x1p-10f};
      for (int64_t k = 0; k < 4; ++k) {
        std::vector<float> x(8);
        x[k] = 1;
        std::vector<float> y(6);
        const void* arguments[] = {x.data(), weights.data()};
        operation.run(arguments, 2, y.data(), in_threads);
        for (int64_t n = 0; n < 3; ++n) CHECK(y[n] == values[by_column ? n * 4 + k : k * 3 + n]);
      }
      const std::vector<float> x(8, 1);
      std::vector<uint16_t> ones(12, 0x3C00);
      std::vector<float> y(6);
      const void* arguments[] = {x.data(), ones.data()};
      operation.run(arguments, 2, y.data(), in_threads);
      CHECK(y == std::vector<float>(6, 4));
      ones.assign(12, 0x4000);  // 2, at the same place
      operation.run(arguments, 2, y.data(), in_threads);
      CHECK(y == std::vector<float>(6, steady ? 4 : 8));
      weights_changed();
      operation.run(arguments, 2, y.data(), in_threads);
      CHECK(y == std::vector<float>(6, 8));
      const std::pair<uint16_t, float> not_finite[] = {{0x7C00, INFINITY}, {0xFC00, -INFINITY}, {0x7E00, NAN}};
      for (const auto& [bits, wanted] : not_finite) {
        ones.assign(12, bits);
        weights_changed();
        operation.run(arguments, 2, y.data(), in_threads);
        for (const float found : y) CHECK((std::isnan(wanted) ? std::isnan(found) : found == wanted));
      }
    }
  DnnlPlan plan = product(2, 4, 3, false);
  plan.weights_type = "s8";
  CHECK_THROWS_AS(DnnlPlan::from_text(plan.text()), Error);
}

}  // namespace hone
