#include "cost/program_time.h"

#include <catch2/catch.hpp>
#include <string>

#include "base/error.h"
#include "base/files.h"

namespace hone::cost {
namespace {

constexpr features::Cpu kWideCpu{.vector_bits = 512, .l1_bytes = 32768, .l2_bytes = 1 << 20, .l3_bytes = 32 << 20};

Kernel kernel_of(int count, double runs, double bytes, double outside_bytes) {
  Kernel kernel;
  kernel.count = count;
  kernel.runs = runs;
  kernel.bytes = bytes;
  kernel.outside_bytes = outside_bytes;
  return kernel;
}

}  // namespace

TEST_CASE("kernels are warm up to an eighth of the last cache and cold from all of it on", "[cost]") {
  CHECK(cold_share(1e6, kWideCpu) == 0);
  CHECK(cold_share(4 << 20, kWideCpu) == 0);
  CHECK(cold_share(32 << 20, kWideCpu) == Approx(1));
  CHECK(cold_share(1e9, kWideCpu) == 1);
  CHECK(cold_share(8 << 20, kWideCpu) == Approx(1.0 / 3));
  CHECK(cold_share(1e9, {}) == 0);  // of caches whose sizes are unknown nothing is said
}

TEST_CASE("a program's time counts each run of a loop, and its kernels cold once", "[cost]") {
  Lowered program;
  program.outside_bytes = 40e6;
  program.kernels = {kernel_of(2, 2, 30e6, 60e6), kernel_of(1, 100, 1e6, 0)};
  CHECK(working_set(program) == Approx(40e6 + 0.1 * 1e6));  // no more than there is outside
  const std::vector<KernelTime> times = {{1000, 3000}, {10, 50}};
  const ProgramTime cold = program_time(program, times, kWideCpu);
  CHECK(cold.cold_share == Approx(1));
  CHECK(cold.warm_ns == Approx(3000));
  CHECK(cold.ns == Approx(3000 + 2 * 2000 + 40));
  program.outside_bytes = 1e6;
  CHECK(program_time(program, times, kWideCpu).ns == Approx(3000));
  CHECK_THROWS_AS(program_time(program, {times.data(), 1}, kWideCpu), InternalError);
}

TEST_CASE("what is no kernel takes longer the farther its bytes are", "[cost]") {
  const auto each_byte = [](double bytes, const features::Cpu& cpu) {
    const std::vector<Moved> once = {{bytes, 1}}, twice = {{2 * bytes, 1}}, often = {{bytes, 50}};
    CHECK(moved_ns(often, cpu) == Approx(50 * moved_ns(once, cpu)));
    return (moved_ns(twice, cpu) - moved_ns(once, cpu)) / bytes;
  };
  CHECK(moved_ns({}, kWideCpu) == 0);
  CHECK(each_byte(1e4, kWideCpu) == Approx(each_byte(4e6, kWideCpu)));
  CHECK(each_byte(4e6, kWideCpu) < each_byte(4e8, kWideCpu));
  CHECK(each_byte(1e4, {}) == Approx(each_byte(4e8, kWideCpu)));  // caches of unknown size hold nothing
  Lowered program;
  const double without = program_time(program, {}, kWideCpu).ns;
  program.moved = {{4, 100}, {1 << 19, 20}};
  const ProgramTime with = program_time(program, {}, kWideCpu);
  CHECK(without == 0);
  CHECK(with.ns == with.moved_ns);
  CHECK(with.moved_ns == Approx(moved_ns(program.moved, kWideCpu)));
  CHECK(with.warm_ns == 0);
}

TEST_CASE("the shipped model of cold kernels can be read, and no other", "[cost]") {
  const std::string models = HONE_SOURCE_DIR "/data/models/";
  CHECK_NOTHROW(ColdModel::open(models + "cold/seed-0.safetensors", kWideCpu));
  CHECK_THROWS_WITH(ColdModel::open(models + "fusion/seed-0.safetensors", kWideCpu),
                    Catch::Contains("out of the caches"));
}

}  // namespace hone::cost
