#include "report/run_profile.h"

#include <catch2/catch.hpp>

namespace hone::report {
namespace {

Node node(const std::string& name, const std::string& opcode, const std::string& fusion_kind = "") {
  Node n;
  n.name = name;
  n.opcode = opcode;
  n.fusion_kind = fusion_kind;
  return n;
}

}  // namespace

TEST_CASE("the time of a run by opcode, loops without the instructions inside them", "[tune]") {
  HloGraph lowered;
  lowered.nodes = {node("d1", "dot"),
                   node("d2", "dot"),
                   node("f", "fusion", "kLoop"),
                   node("w", "while"),
                   node("y", "fusion", "kCustom"),
                   node("idle", "copy")};
  RunProfile profile;
  profile.runs = 2;
  for (int run = 0; run < 2; ++run) {
    const double t = run * 1000.0;
    profile.slices.push_back({"w", run, 0, t, 100});  // holds d1 and f
    profile.slices.push_back({"d1", run, 0, t + 10, 40});
    profile.slices.push_back({"f", run, 0, t + 50, 20});
    profile.slices.push_back({"d2", run, 0, t + 100, 60});
    profile.slices.push_back({"y", run, 1, t + 20, 10});  // another thread: inside nothing
    profile.slices.push_back({"nobody", run, 0, t + 160, 4});
  }
  const std::vector<TimeShare> shares = time_by_opcode(profile, lowered);
  REQUIRE(shares.size() == 5);
  CHECK(shares[0].opcode == "dot");
  CHECK(shares[0].ns == Approx(100));
  CHECK(shares[0].instructions == 2);
  CHECK(shares[0].library);
  CHECK(shares[1].opcode == "while");
  CHECK(shares[1].ns == Approx(40));
  CHECK_FALSE(shares[1].library);
  CHECK(shares[2].opcode == "fusion");
  CHECK(shares[2].ns == Approx(20));
  CHECK(shares[3].opcode == "fusion of a library");
  CHECK(shares[3].ns == Approx(10));
  CHECK(shares[3].library);
  CHECK(shares[4].opcode == "other");
  CHECK(time_by_opcode({}, lowered).empty());
}

}  // namespace hone::report
