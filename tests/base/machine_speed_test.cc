#include "base/machine_speed.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace hone;

TEST_CASE("the speed of a machine is measured for every level that it has", "[base]") {
  const CacheSizes caches{.l1 = 32 << 10, .l2 = 1 << 20, .l3 = 8 << 20};
  const MachineSpeed speed = measure_machine_speed("sse2", caches);
  // Whatever the machine: far between what an interpreter and what no core does.
  for (const double read : {speed.read_l1, speed.read_l2, speed.read_l3, speed.read_memory}) {
    CHECK(read > 0.1);
    CHECK(read < 5000);
  }
  CHECK(speed.flops > 0.1);
  CHECK(speed.flops < 1000);
#if defined(__x86_64__)
  CHECK(speed.clock > 0.2);
  CHECK(speed.clock < 10);
#endif
}

TEST_CASE("a level that is not known, or no larger than the one before, is not measured", "[base]") {
  const MachineSpeed speed = measure_machine_speed("sse2", {.l1 = 32 << 10, .l2 = 0, .l3 = 48 << 10});
  CHECK(speed.read_l1 > 0);
  CHECK(speed.read_l2 == 0);
  CHECK(speed.read_l3 > 0);
  CHECK(measure_machine_speed("sse2", {.l1 = 0, .l2 = 1 << 20, .l3 = 1 << 20}).read_l3 == 0);
}

TEST_CASE("the speed of a machine is read as it was written", "[base]") {
  const MachineSpeed speed{.read_l1 = 200.5, .read_l2 = 100, .read_memory = 20.125, .flops = 117, .clock = 3.7};
  CHECK(machine_speed_from_json(to_json(speed)) == speed);
  CHECK(machine_speed_from_json(nlohmann::json::object()) == MachineSpeed{});
  for (const nlohmann::json& wrong : {nlohmann::json{{"flops", "many"}}, nlohmann::json{{"clock", -1}}})
    CHECK_THROWS_AS(machine_speed_from_json(wrong), Error);
}
