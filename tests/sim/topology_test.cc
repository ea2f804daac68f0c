#include "sim/topology.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/error.h"

namespace hone::sim {

namespace {

const std::string kDevice =
    "[[device]]\nname = \"d\"\ncount = 2\nmemory_gib = 1\nmatrix_tflops = 1\nvector_tflops = 0.5\nmemory_gb_per_s = "
    "10\n";
const std::string kLink = "[[link]]\nbetween = [\"d0\", \"d1\"]\ngb_per_s = 2\nlatency_us = 3\n";

// The complete error message.
std::string refusal(const std::string& text) {
  try {
    parse_topology(text, "t.toml");
  } catch (const Error& e) {
    return std::string(e.what()) + " (" + e.where() + ")";
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a topology reads with units", "[sim]") {
  const Topology t = parse_topology("name = \"two\"\n" + kDevice + kLink, "t.toml");
  CHECK(t.name == "two");
  REQUIRE(t.size() == 2);
  CHECK(t.devices[1].name == "d1");
  CHECK(t.devices[0].memory_bytes == 1024.0 * 1024 * 1024);
  CHECK(t.devices[0].matrix_flops == 1e12);
  CHECK(t.devices[0].special_per_second == Approx(0.5e12 / 8));
  CHECK(t.links.size() == 2);  // one per direction
  CHECK(t.route(0, 1)[0] != t.route(1, 0)[0]);
  CHECK(t.transfer_seconds(0, 1, 2e9) == Approx(1 + 3e-6));
  CHECK(t.transfer_seconds(1, 1, 2e9) == 0);
  CHECK(t.memory_bytes() == 2.0 * 1024 * 1024 * 1024);
}

TEST_CASE("devices can be threads of one process", "[sim]") {
  CHECK_FALSE(parse_topology(kDevice + kLink, "t.toml").threads);
  const Topology t = parse_topology("segment_us = 12\nwake_us = 20\n" + kDevice + kLink, "t.toml");
  REQUIRE(t.threads);
  CHECK(t.threads->segment_seconds == Approx(12e-6));
  CHECK(t.threads->wake_seconds == Approx(20e-6));
  CHECK(refusal("segment_us = -1\n" + kDevice + kLink).starts_with("must be a number from 0"));
}

TEST_CASE("routes pass through switches, and a shared link is a single link", "[sim]") {
  const std::string star =
      "switches = [\"s\"]\n" + kDevice +
      "[[link]]\nkind = \"star\"\nbetween = [\"s\", \"d0\", \"d1\"]\ngb_per_s = 2\nlatency_us = 1\n";
  const Topology t = parse_topology(star, "t.toml");
  CHECK(t.links.size() == 4);
  CHECK(t.route(0, 1).size() == 2);
  CHECK(t.transfer_seconds(0, 1, 2e9) == Approx(1 + 2e-6));
  const Topology bus =
      parse_topology(kDevice + "[[link]]\nkind = \"shared\"\nbetween = [\"d0\", \"d1\"]\ngb_per_s = 2\n", "t.toml");
  CHECK(bus.links.size() == 1);
  CHECK(bus.route(0, 1)[0] == bus.route(1, 0)[0]);
}

TEST_CASE("bad topologies are refused with their line and key", "[sim]") {
  CHECK(refusal("name = \"none\"\n") == "the topology has no device (t.toml line 1)");
  CHECK(refusal("nmae = \"x\"\n" + kDevice + kLink) == "unknown key 'nmae' (t.toml line 1, nmae)");
  CHECK(refusal(kDevice + "colour = \"red\"\n" + kLink) == "unknown key 'colour' (t.toml line 8, device 1, colour)");
  CHECK(refusal(kDevice + "[[link]]\nbetween = [\"d0\", \"d1\"]\ngb_per_s = 0\n") ==
        "must be a number above zero (t.toml line 10, link 1, gb_per_s)");
  CHECK(refusal(
            "[[device]]\nname = \"d\"\nmemory_gib = 1\nmatrix_tflops = 1\nvector_tflops = 1\nmemory_gb_per_s = -3\n") ==
        "must be a number above zero (t.toml line 6, device 1, memory_gb_per_s)");
  CHECK(refusal("[[device]]\nname = \"d\"\n").starts_with("'memory_gib' is missing (t.toml line 1, device 1"));
  CHECK(refusal(kDevice) == "no route from d0 to d1 (t.toml)");
  CHECK(refusal(kDevice + "[[link]]\nbetween = [\"d0\", \"d7\"]\ngb_per_s = 1\n")
            .starts_with("no device or switch is called 'd7'"));
  CHECK(refusal(kDevice + "[[link]]\nbetween = [\"d0\"]\ngb_per_s = 1\n").starts_with("a link needs two ends"));
  CHECK(refusal(kDevice + "[[link]]\nkind = \"tree\"\nbetween = [\"d0\", \"d1\"]\ngb_per_s = 1\n")
            .starts_with("unknown kind of link"));
  CHECK(refusal(kDevice + kDevice + kLink).starts_with("the name 'd0' is given twice"));
  CHECK(refusal("name = [").starts_with("not a TOML file"));
  CHECK(refusal("device = 3\n").starts_with("must be written as [[device]]"));
  CHECK(refusal("[[device]]\nname = \"d\"\ncount = 100\nmemory_gib = 1\nmatrix_tflops = 1\nvector_tflops = "
                "1\nmemory_gb_per_s = 1\n")
            .starts_with("must be a whole number from 1 to 64"));
}

TEST_CASE("letters beyond ASCII stand in strings and comments only", "[sim]") {
  const std::string text = kDevice + kLink;
  for (const char* fine : {"# \u01a8 \" '\n", "name = \"\u01a8 # \\\" \u01a8\"\n", "name = '\u01a8 \\'\n",
                           "name = \"\"\"\n\u01a8 \" \u01a8\"\"\"\n", "\xef\xbb\xbfname = \"x\"\n"}) {
    INFO(fine);
    CHECK(refusal(fine + text) == "accepted");
  }
  CHECK(refusal(text + "\n\u01a8") ==
        "not a TOML file: a letter that only strings and comments may have (t.toml line 13)");
  // Of a number that goes wrong the library reads on, over quotes and all.
  CHECK(refusal("name = -[\"gpu\u01e8\"\n" + text).ends_with("(t.toml line 1)"));
  CHECK(refusal("name = \"\"\"a\\\nb\"\"\"\n\u01a8").ends_with("(t.toml line 3)"));
  CHECK(refusal("name = \"x\" \u01a8\n" + text).starts_with("not a TOML file: a letter"));
}

TEST_CASE("a link of thousands of ends is refused before its pairs are made", "[sim]") {
  std::string names;
  for (int i = 0; i < 1500; ++i) names += ", \"s" + std::to_string(i) + "\"";
  CHECK(refusal("switches = [" + names.substr(2) + "]\n" + kDevice + "[[link]]\nbetween = [\"d0\"" + names +
                "]\ngb_per_s = 1\n")
            .starts_with("more than 100,000 pairs"));
}

TEST_CASE("every preset reads", "[sim]") {
  const std::string presets = HONE_SOURCE_DIR "/data/topologies";
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(presets)) {
    const Topology t = load_topology(file.path().stem().string(), presets);
    CHECK(t.size() >= 1);
    ++count;
  }
  CHECK(count >= 8);
  CHECK(load_topology("gpu8-pcie", presets).route(0, 7).size() == 3);
  CHECK(load_topology("tpu4", presets).route(0, 3).size() == 2);
  CHECK_THROWS_AS(load_topology("gpu3", presets), Error);
  CHECK_THROWS_AS(load_topology("missing/file.toml", presets), Error);
}

}  // namespace hone::sim
