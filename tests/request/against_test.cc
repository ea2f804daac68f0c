#include "request/against.h"

#include <catch2/catch.hpp>

#include "base/error.h"

namespace hone::request {

TEST_CASE("arrays for stock jaxlib fit NumPy's files and a message", "[against]") {
  CHECK_NOTHROW(check_arrays({}, "p"));
  CHECK_NOTHROW(check_arrays({"f32[2,3]", "bf16[]", "pred[0,4000000000]", "c128[7]"}, "p"));
  CHECK_NOTHROW(check_arrays({"f32[512,1024,1000]"}, "p"));
  for (const std::vector<std::string>& shapes :
       std::vector<std::vector<std::string>>{{"(f32[2], f32[3])"},
                                             {"f32[2]", "s4[8]"},
                                             {"token[]"},
                                             {"f32[512,1024,1024]"},
                                             {"u8[1073741824]", "f64[134217728]"}})
    try {
      check_arrays(shapes, "the program");
      FAIL(shapes.back());
    } catch (const Error& error) {
      CHECK(error.where() == "the program");
      CHECK(!error.hint().empty());
      CHECK(dynamic_cast<const RunError*>(&error) == nullptr);
    }
}

}  // namespace hone::request
