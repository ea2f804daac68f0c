#include "base/text.h"

#include <catch2/catch.hpp>
#include <limits>
#include <set>

#include "base/error.h"

using namespace hone;

TEST_CASE("the hash is MurmurHash3 x64 128") {
  CHECK(hash_hex("") == "00000000000000000000000000000000");
  CHECK(hash_hex("hello") == "cbd8a7b341bd9b025b1e906a48ae1d19");
  CHECK(hash_hex("The quick brown fox jumps over the lazy dog") == "e34bbc7bbc071b6c7a433ca9c49a9347");
  CHECK(hash64("hello") == 0xcbd8a7b341bd9b02ull);
}

TEST_CASE("hashes of all lengths and of one changed bit differ") {
  std::set<std::string> seen;
  std::string bytes(100, '\0');
  for (size_t length = 0; length <= bytes.size(); ++length) seen.insert(hash_hex(bytes.substr(0, length)));
  for (size_t bit = 0; bit < 800; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(1 << bit % 8);
    seen.insert(hash_hex(changed));
  }
  CHECK(seen.size() == 101 + 800);
}

TEST_CASE("sizes and times in readable units") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(1536) == "1.50 KiB");
  CHECK(human_bytes(1048575) == "1.00 MiB");
  CHECK(human_bytes(3.2 * (1 << 30)) == "3.20 GiB");
  CHECK(human_ns(85) == "85 ns");
  CHECK(human_ns(1500) == "1.50 us");
  CHECK(human_ns(1.23e6) == "1.23 ms");
  CHECK(human_ns(999.999e6) == "1.00 s");
  CHECK(human_ns(59.999e9) == "1 min 0 s");
  CHECK(human_ns(200e9) == "3 min 20 s");
  CHECK(human_ns(7260e9) == "2 h 1 min");
  CHECK(human_ns(std::numeric_limits<double>::infinity()) == "-");
}

TEST_CASE("durations") {
  CHECK(parse_duration_s("60s") == 60);
  CHECK(parse_duration_s("60") == 60);
  CHECK(parse_duration_s("2m") == 120);
  CHECK(parse_duration_s("500ms") == 0.5);
  CHECK(parse_duration_s("1.5h") == 5400);
  for (const char* bad : {"", "s", "-1s", "+1", "1 s", "1d", "nan", "inf", "1e999", "1s2", "0x10"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_duration_s(bad), Error);
  }
  try {
    parse_duration_s("soon", "--budget");
  } catch (const Error& error) {
    CHECK(error.where() == "--budget");
  }
}

TEST_CASE("lists of indices") {
  CHECK(parse_index_list("0") == std::vector<int>{0});
  CHECK(parse_index_list("0,3-5") == std::vector<int>{0, 3, 4, 5});
  CHECK(parse_index_list("7,2-3,3,7") == std::vector<int>{2, 3, 7});
  for (const char* bad : {"", ",", "1,", ",1", "1-", "-1", "5-3", "a", "1, 2", "1-2-3", "0-2000000000", "99999999999",
                          "0-999999,0-999999"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_index_list(bad), Error);
  }
}
