#include "base/isa.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/error.h"

namespace hone {

using Catch::Contains;

TEST_CASE("limits of the instruction set: names, XLA's spelling, widths") {
  CHECK(max_isa_names() == std::vector<std::string>{"sse4.2", "avx2", "avx512"});
  CHECK(xla_isa_name("sse4.2") == "SSE4_2");
  CHECK(xla_isa_name("avx2") == "AVX2");
  CHECK(xla_isa_name("avx512") == "AVX512");
  CHECK(isa_vector_bits("sse2") == 128);
  CHECK(isa_vector_bits("sse4.2") == 128);
  CHECK(isa_vector_bits("avx") == 256);
  CHECK(isa_vector_bits("avx2") == 256);
  CHECK(isa_vector_bits("avx512") == 512);
}

TEST_CASE("a limit that is no name is told the names") {
  for (const char* name : {"AVX2", "avx", "sse2", "unknown", "neon"}) {
    INFO(name);
    CHECK_THROWS_WITH(check_max_isa(name, "avx512"), Contains("none of sse4.2, avx2, avx512"));
    CHECK_THROWS_AS(xla_isa_name(name), Error);
  }
  CHECK_THROWS_AS(xla_isa_name(""), Error);
}

TEST_CASE("a limit is at most what the CPU has") {
  check_max_isa("", "sse2");
  check_max_isa("sse4.2", "sse4.2");
  check_max_isa("avx2", "avx512");
  CHECK_THROWS_WITH(check_max_isa("sse4.2", "sse2"), "this CPU has no sse4.2");
  CHECK_THROWS_WITH(check_max_isa("avx2", "avx"), "this CPU has no avx2");
  try {
    check_max_isa("avx512", "avx2");
    FAIL("a limit beyond the CPU");
  } catch (const Error& e) {
    CHECK(e.where() == "--max-isa");
    CHECK(e.hint() == "the widest it has is avx2");
  }
}

TEST_CASE("a CPU has an instruction set and those before it, whatever their widths") {
  CHECK(has_isa("avx2", "avx2"));
  CHECK(has_isa("avx512", "avx2"));
  CHECK(has_isa("sse2", ""));
  CHECK_FALSE(has_isa("avx", "avx2"));
  CHECK_FALSE(has_isa("sse2", "sse4.2"));
  CHECK_FALSE(has_isa("unknown", "sse2"));
}

TEST_CASE("the instruction set in effect is the limit, else the CPU's") {
  CHECK(isa_in_effect("avx2") == "avx2");
  CHECK(isa_in_effect("") == cpu_isa());
  CHECK(isa_vector_bits(cpu_isa()) >= 128);
}

}  // namespace hone
