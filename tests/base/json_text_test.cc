#include "base/json_text.h"

#include <catch2/catch.hpp>
#include <string>

using hone::shallow_json;

namespace {

std::string nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

}  // namespace

TEST_CASE("JSON that nests no deeper than any file is let through as it is", "[base]") {
  for (const std::string& text : {std::string(), std::string("{\"a\": [1, 2]}"), nested(200)})
    CHECK(shallow_json(text) == text);
  const std::string flat = "[" + std::string(1000, ' ') + "[],[],[],{}]";
  CHECK(shallow_json(flat) == flat);
}

TEST_CASE("JSON that nests deeper is empty", "[base]") {
  CHECK(shallow_json(nested(201)).empty());
  CHECK(shallow_json(nested(100'000)).empty());
  CHECK(shallow_json("{\"a\":" + nested(300) + "}").empty());
}

TEST_CASE("brackets in strings do not nest", "[base]") {
  const std::string quoted = "\"" + std::string(1000, '[') + "\"";
  CHECK(shallow_json(quoted) == quoted);
  const std::string escaped = "[\"\\\"" + std::string(1000, '[') + "\"]";
  CHECK(shallow_json(escaped) == escaped);
  CHECK(shallow_json("[\"\\\\\"," + nested(300) + "]").empty());  // the string ends before the brackets
}
