#include "graph/kernel_option.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace hone;
using Emitter = KernelOption::Emitter;

TEST_CASE("options of a kernel are parsed and printed in canonical form") {
  const char* const texts[] = {"default",       "loop",
                               "loop;unroll=0", "loop;slp=0",
                               "loop;size=1",   "tile=8",
                               "tile=8,16",     "tile=8,16;unroll=0;slp=0",
                               "partitions=1",  "loop;partitions=4",
                               "eigen",         "ynn",
                               "llvm",          "naive"};
  for (const char* text : texts) CHECK(to_text(KernelOption::parse(text)) == text);
  CHECK(KernelOption::parse("") == KernelOption{});
  CHECK(to_text(KernelOption::parse("tile=4;slp=0;unroll=0")) == "tile=4;unroll=0;slp=0");
  CHECK(to_text(KernelOption::parse("loop;unroll=1;size=0")) == "loop");
}

TEST_CASE("options of a kernel know their properties") {
  const KernelOption option = KernelOption::parse("tile=8,16;unroll=0;slp=0");
  CHECK(option.emitter == Emitter::Tiled);
  CHECK(option.tile == std::vector<int64_t>{8, 16});
  CHECK_FALSE(option.unroll);
  CHECK_FALSE(option.slp);
  CHECK_FALSE(option.optimize_size);
  CHECK(option.flags_text() == ";unroll=0;slp=0");
  CHECK_FALSE(option.is_library());
  CHECK(KernelOption::parse("ynn").is_library());
  CHECK(KernelOption::parse("loop;partitions=4").partitions == 4);
}

TEST_CASE("text that is not an option of a kernel is refused with its part named") {
  for (const char* text :
       {"shifted", "tile", "tile=", "tile=0", "tile=8,-1", "tile=8,x", ";loop", "partitions=0", "unroll=2", "slp",
        "tile=99999999999999999999", "tile=8;naive", "loop;tile=8", "tile=8;tile=8"}) {
    INFO(text);
    CHECK_FALSE(KernelOption::try_parse(text));
    CHECK_THROWS_AS(KernelOption::parse(text), Error);
  }
  CHECK_THROWS_WITH(KernelOption::parse("loop;fast"), Catch::Contains("\"fast\" is not an option of a kernel"));
  CHECK(tile_from_text("8,128") == std::vector<int64_t>{8, 128});
  CHECK(tile_text({8, 128}) == "8,128");
  CHECK_THROWS_AS(tile_from_text("8,,1"), Error);
}
