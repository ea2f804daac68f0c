#include "features/machine_record.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/isa.h"

using namespace hone;
using namespace hone::features;

namespace {

const MachineRecord kRecord{
    .host = "CPU, 2 cores",
    .cpu = "CPU",
    .isa = "avx2",
    .cpu_isa = "avx512",
    .properties = {.vector_bits = 256, .library_bits = 512, .l1_bytes = 32768, .l2_bytes = 1 << 20, .threads = 1},
    .speed = {.read_memory = 20, .flops = 60}};

}  // namespace

TEST_CASE("the record of a machine lies beside a data set", "[features]") {
  const TempDir folder;
  CHECK_FALSE(read_machine_file(folder.path().string()));
  write_machine_file(folder.path().string(), kRecord);
  CHECK(read_machine_file(folder.path().string()) == kRecord);
}

TEST_CASE("a record of a machine with faults is refused by name", "[features]") {
  const nlohmann::json sound = to_json(kRecord);
  for (const char* name : {"host", "cpu", "isa", "cpu_isa", "l2_bytes", "speed"}) {
    nlohmann::json broken = sound;
    broken[name] = nlohmann::json::array();
    try {
      machine_record_from_json(broken, "some file");
      FAIL("nothing thrown for " << name);
    } catch (const Error& e) {
      CHECK(e.where() == "some file");
      CHECK(std::string(e.what()).find(name) != std::string::npos);
    }
  }
  CHECK_THROWS_AS(machine_record_from_json(nlohmann::json(), "some file"), Error);
  nlohmann::json least = {{"host", "h"}, {"cpu", "c"}, {"isa", "avx512"}, {"cpu_isa", "avx512"}};
  CHECK(machine_record_from_json(least, "some file").properties.vector_bits == 512);
}

TEST_CASE("machines of a class share vendor, instruction sets and whether there is one thread", "[features]") {
  CHECK(machine_class("AMD EPYC 9B14", "avx512", "avx512", 1) == "AMD avx512, one thread");
  CHECK(machine_class("Intel(R) Xeon(R)", "avx2", "avx512", 8) == "Intel avx2 of avx512, several threads");
  CHECK(machine_class(kRecord) == "CPU avx2 of avx512, one thread");
}

TEST_CASE("the most similar class of machines has the same instruction set, if there is one", "[features]") {
  const std::vector<std::string> known = {"Intel avx512, one thread", "AMD avx512, several threads",
                                          "AMD avx2 of avx512, one thread"};
  CHECK(most_similar_class("Intel avx512, one thread", known) == known[0]);
  CHECK(most_similar_class("AMD avx512, one thread", known) == known[1]);  // the vendor before the number of threads
  CHECK(most_similar_class("Intel avx512, several threads", known) == known[0]);
  CHECK(most_similar_class("Intel avx2, several threads", known) == known[2]);
  // What libraries have, before the vendor.
  const std::vector<std::string> with_avx2 = {"AMD avx2 of avx512, one thread", "Intel avx2, one thread",
                                              "Intel avx2 of avx512, several threads"};
  CHECK(similar_classes("AMD avx2, one thread", with_avx2) == std::vector{with_avx2[1], with_avx2[0], with_avx2[2]});
  CHECK(similar_classes("Intel avx2 of avx512, one thread", with_avx2) ==
        std::vector{with_avx2[2], with_avx2[0], with_avx2[1]});
  CHECK(similar_classes("Intel avx512, one thread", with_avx2) ==
        std::vector{with_avx2[1], with_avx2[2], with_avx2[0]});
  CHECK(most_similar_class("AMD sse4.2, one thread", known) == known[2]);  // the nearest set
  CHECK(most_similar_class("AMD sse4.2, one thread", {known[0], known[1]}) == known[1]);
  CHECK_FALSE(most_similar_class("AMD avx512, one thread", {}));
  CHECK(most_similar_class("", {""}) == "");
}

TEST_CASE("this machine's record is of the instruction set in effect", "[features]") {
  const MachineRecord record = this_machine_record("host", 2, "sse4.2");
  CHECK(record.isa == "sse4.2");
  CHECK(record.properties.vector_bits == 128);
  CHECK(record.properties.threads == 2);
  CHECK(record.speed.flops > 0);
  CHECK(this_machine_record("other", 1, "sse4.2").speed == record.speed);  // measured once
}
