#include "cost/analytical.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/rng.h"
#include "tests/cost/test_kernel.h"

using namespace hone;
using namespace hone::cost;

namespace {

TestKernel negation(int64_t elements) {
  return kernel_of({node("parameter", f32({elements})), node("negate", f32({elements}), {0})}, {"loop"});
}

TestKernel transposition(int64_t rows, int64_t columns, const std::vector<std::string>& options) {
  return kernel_of({node("parameter", f32({columns, rows})), node("transpose", f32({rows, columns}), {0}, {1, 0})},
                   options);
}

features::Cpu small_cpu() {
  return {.vector_bits = 256, .l1_bytes = 32 << 10, .l2_bytes = 1 << 20, .l3_bytes = 32 << 20, .threads = 1};
}

ResourceCounts demand(const TestKernel& kernel, size_t option = 0) {
  const KernelView view = kernel.view();
  const size_t width = features::tile_feature_count();
  return count_resources(loop_nest_of(view), view.tiles.subspan(option * width, width), small_cpu());
}

}  // namespace

TEST_CASE("footprints count whole cache lines") {
  Access rows{{4096, 4}, 4, false};  // f32[?,1024], row-major
  PerAxis extent;
  extent.fill(1);
  CHECK(footprint_bytes(rows, extent) == 64);
  extent[1] = 16;
  CHECK(footprint_bytes(rows, extent) == 64);
  extent[1] = 1024;
  CHECK(footprint_bytes(rows, extent) == 4096);
  extent[0] = 8;
  CHECK(footprint_bytes(rows, extent) == 8 * 4096);
  extent[1] = 1;
  CHECK(footprint_bytes(rows, extent) == 8 * 64);  // a column: one cache line per row
}

TEST_CASE("streamed data is moved once through each cache that is too small for it") {
  constexpr int64_t kElements = 16 << 20;  // 64 MiB in, 64 MiB out
  const ResourceCounts d = demand(negation(kElements));
  CHECK(d.emitter == Emitter::Loop);
  for (double bytes : d.bytes) CHECK(bytes == Approx(2 * 4 * kElements).epsilon(0.02));
  CHECK(d.vector_ops == Approx(3.0 * kElements / 8));  // a load, a negation, a store
  CHECK(d.scalar_ops == 0);
  const ResourceCounts fits = demand(negation(1 << 10));  // 8 KiB: stays in the first cache between runs
  for (double bytes : fits.bytes) CHECK(bytes == 0);
}

TEST_CASE("twice the bytes take twice the time when memory bounds a kernel") {
  AnalyticalModel model(small_cpu());
  model.coefficients().per_vector_op = 1e-3;
  model.coefficients().per_row = model.coefficients().launch = 1e-9;
  const double once = model.predict(negation(16 << 20).view())[0], twice = model.predict(negation(32 << 20).view())[0];
  CHECK(once == Approx(2.0 * (64 << 20) / 10).epsilon(0.02));  // 10 bytes per ns from memory
  CHECK(twice / once == Approx(2).epsilon(0.02));
}

TEST_CASE("time is the longest of its parts, times scales") {
  AnalyticalCoefficients c;
  c.per_byte = {1, 2, 3};
  c.per_vector_op = 1, c.per_tile = 10, c.per_row = 0.5, c.launch = 100;
  ResourceCounts d;
  d.bytes = {50, 20, 10};
  d.vector_ops = 40, d.tiles = 3, d.rows = 4;
  CHECK(estimate_ns(d, KernelClass::Reduce, 0, c) == Approx(100 + 50 + 30 + 2));
  d.vector_ops = 70;
  c.scale[static_cast<int>(KernelClass::Reduce)][static_cast<int>(Emitter::Loop)] = 2;
  c.flag[1] = 3;
  CHECK(estimate_ns(d, KernelClass::Reduce, 1u << 1, c) == Approx((100 + 70 + 30 + 2) * 2 * 3));
  CHECK(estimate_ns(d, KernelClass::Other, 0, c) == Approx(100 + 70 + 30 + 2));
}

TEST_CASE("a tile of whole cache lines beats one that uses four bytes of each") {
  // The output's rows are the input's columns: a tile of one row reads 4 bytes of every line it touches.
  const TestKernel kernel = transposition(8192, 8192, {"tile=16,16", "tile=1,256", "loop"});
  const ResourceCounts square = demand(kernel, 0), row = demand(kernel, 1);
  CHECK(square.emitter == Emitter::Tiled);
  CHECK(square.tiles == 512 * 512);
  // Both arrays once: 2 * 4 bytes per element. The row of tiles reads a line of 64 bytes for every 4 bytes it uses.
  CHECK(square.bytes[0] == Approx(2.0 * 4 * 8192 * 8192).epsilon(0.02));
  CHECK(row.bytes[0] == Approx((64.0 + 4) * 8192 * 8192).epsilon(0.02));
  const std::vector<double> ns = AnalyticalModel(small_cpu()).predict(kernel.view());
  CHECK(ns[0] < ns[1]);
  CHECK(ns[0] < ns[2]);
}

TEST_CASE("rows of demand end with the estimate of the default model") {
  const TestKernel kernel = kernel_of({node("parameter", f32({1024, 1024})), node("tanh", f32({1024, 1024}), {0})},
                                      {"loop", "tile=8,128"}, {.flops = 1e6, .bytes_read = 4e6, .bytes_written = 4e6});
  const features::Cpu cpu = features::this_cpu(1);
  const std::vector<float> rows = demand_rows(kernel.view(), kernel.tiles, cpu);
  const size_t width = demand_columns().size();
  REQUIRE(rows.size() == 2 * width);
  const std::vector<double> predicted = AnalyticalModel(cpu).predict(kernel.view());
  CHECK(rows[width - 1] == Approx(predicted[0]));
  CHECK(rows[2 * width - 1] == Approx(predicted[1]));
  CHECK(demand_rows(kernel.view(), {}, cpu).empty());
}

TEST_CASE("a fitted model counts on no wider vectors than the CPU it is opened for") {
  const TempDir folder;
  const std::string path = (folder.path() / "fitted.json").string();
  write_file(path, AnalyticalModel(small_cpu()).to_json().dump());
  features::Cpu cpu = small_cpu();
  for (const auto& [has, counts] : {std::pair(128, 128), {256, 256}, {512, 256}}) {
    cpu.vector_bits = has;
    CHECK(AnalyticalModel::load(path, cpu).cpu().vector_bits == counts);
  }
}

TEST_CASE("kernels are classified by their dominant operation") {
  CHECK(loop_nest_of(negation(64).view()).kind == KernelClass::Elementwise);
  CHECK(loop_nest_of(transposition(8, 8, {"loop"}).view()).kind == KernelClass::Transpose);
  Node sum = node("reduce", f32({32}), {0, 1}, {1});
  const TestKernel reduce = kernel_of({node("parameter", f32({32, 64})), node("constant", f32({})), sum}, {"loop"});
  const LoopNest nest = loop_nest_of(reduce.view());
  CHECK(nest.kind == KernelClass::Reduce);
  CHECK(nest.outputs == 1);
  CHECK(nest.extent == std::vector<double>{32, 64});
  CHECK(nest.reduces_minor);
  CHECK(demand(reduce).scalar_ops == Approx(32 * 64));  // sequential additions
  const TestKernel dot = kernel_of(
      {node("parameter", f32({32, 64})), node("parameter", f32({64, 16})), node("dot", f32({32, 16}), {0, 1})},
      {"loop"}, {.flops = 2.0 * 32 * 64 * 16});
  CHECK(loop_nest_of(dot.view()).kind == KernelClass::Dot);
}

namespace {

// Kernels of several kinds whose run times are the model's predictions times noise of `deviation`.
std::vector<TestKernel> measured_by(const AnalyticalModel& model, double deviation) {
  Rng rng(7);
  std::vector<TestKernel> kernels;
  for (int i = 0; i < 120; ++i) {
    const int64_t size = int64_t{1} << (6 + i % 6);
    kernels.push_back(
        i % 2 ? transposition(size, 2 * size, {"loop", "tile=16,16", "tile=1,64", "tile=8,32", "loop;slp=0"})
              : negation(size * 64));
    TestKernel& k = kernels.back();
    k.runtime_ns = model.predict(k.view());
    for (double& ns : k.runtime_ns) ns *= std::exp(deviation * (2 * rng.uniform() - 1));
  }
  return kernels;
}

std::vector<KernelView> views_of(const std::vector<TestKernel>& kernels) {
  std::vector<KernelView> views;
  for (const TestKernel& k : kernels) views.push_back(k.view());
  return views;
}

}  // namespace

TEST_CASE("fitting recovers the coefficients that made the data") {
  AnalyticalModel truth(small_cpu());
  auto& scale = truth.coefficients().scale;
  scale[static_cast<int>(KernelClass::Elementwise)][static_cast<int>(Emitter::Loop)] = 1.7;
  scale[static_cast<int>(KernelClass::Transpose)][static_cast<int>(Emitter::Loop)] = 0.6;
  scale[static_cast<int>(KernelClass::Transpose)][static_cast<int>(Emitter::Tiled)] = 2.5;
  truth.coefficients().flag[1] = 1.3;  // slp=0
  const std::vector<TestKernel> kernels = measured_by(truth, 0.02);
  AnalyticalModel fitted(small_cpu());
  fitted.fit(views_of(kernels), {.machine = false});
  for (int kind = 0; kind < kKernelClasses; ++kind)
    for (int emitter = 0; emitter < kEmitters; ++emitter)
      CHECK(fitted.coefficients().scale[kind][emitter] == Approx(scale[kind][emitter]).epsilon(0.03));
  CHECK(fitted.coefficients().flag[1] == Approx(1.3).epsilon(0.03));
  CHECK(fitted.coefficients().flag[0] == Approx(1));

  SECTION("ranking within kernels determines only ratios of scales") {
    AnalyticalModel ranks(small_cpu());
    ranks.fit(views_of(kernels), {.within_kernels = true, .machine = false});
    const auto& row = ranks.coefficients().scale[static_cast<int>(KernelClass::Transpose)];
    CHECK(row[1] / row[0] == Approx(2.5 / 0.6).epsilon(0.05));
  }
}

TEST_CASE("fitting the machine's costs brings predictions to the run times") {
  AnalyticalModel truth(small_cpu());
  truth.coefficients().per_tile = 40, truth.coefficients().per_vector_op = 0.6, truth.coefficients().launch = 1500;
  const std::vector<TestKernel> kernels = measured_by(truth, 0);
  const auto error = [&](const AnalyticalModel& model) {  // mean, of the logarithm
    double sum = 0, count = 0;
    for (const TestKernel& k : kernels) {
      const std::vector<double> ns = model.predict(k.view());
      for (size_t o = 0; o < ns.size(); ++o, ++count) sum += std::abs(std::log(ns[o] / k.runtime_ns[o]));
    }
    return sum / count;
  };
  AnalyticalModel fitted(small_cpu());
  const double before = error(fitted);
  CHECK(before > 0.2);
  fitted.fit(views_of(kernels), {});
  CHECK(error(fitted) < before / 3);  // not 0: the prior keeps the coefficients near their defaults
}

TEST_CASE("a fitted model is unchanged by writing and reading") {
  AnalyticalModel model(small_cpu());
  model.fit(views_of(measured_by(model, 0.1)), {});
  const AnalyticalModel again = AnalyticalModel::from_json(nlohmann::json::parse(model.to_json().dump()));
  CHECK(again.coefficients() == model.coefficients());
  CHECK(again.cpu().l2_bytes == model.cpu().l2_bytes);
  nlohmann::json broken = model.to_json();
  broken["ns"]["launch"] = -1;
  CHECK_THROWS_AS(AnalyticalModel::from_json(broken), Error);
  broken = model.to_json();
  broken["feature_version"] = 999;
  CHECK_THROWS_AS(AnalyticalModel::from_json(broken), Error);
  CHECK_THROWS_AS(AnalyticalModel::from_json(nlohmann::json::array()), Error);
  CHECK_THROWS_AS(model.fit(std::vector<KernelView>{}, {}), Error);
}
