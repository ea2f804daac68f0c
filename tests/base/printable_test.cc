#include "base/printable.h"

#include <catch2/catch.hpp>

namespace hone {

TEST_CASE("text of others becomes one line of valid UTF-8 without control characters", "[base]") {
  CHECK(printable("plain Größe 日本 \U0001F600") == "plain Größe 日本 \U0001F600");
  CHECK(printable("two\nlines\tand a tab\n\n") == "two lines and a tab");
  CHECK(printable("a\x1b[31mred\x07") == "a\\x1b[31mred\\x07");
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(printable("\x7f") == "\\x7f");
  CHECK(printable("\xc2\x9b"
                  "1m") == "\\x9b1m");  // C1's control sequence introducer, as UTF-8
  CHECK(printable("\xe2\x80\xae"
                  "fdp.hlo") == "\\u202efdp.hlo");  // right-to-left override
  CHECK(printable("") == "");
}

TEST_CASE("bytes that are not UTF-8 are shown as such", "[base]") {
  CHECK(printable("a\xff.hlo") == "a\\xff.hlo");
  CHECK(printable("\x9b") == "\\x9b");
  CHECK(printable("\xc0\x80") == "\\xc0\\x80");               // not the shortest form
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");      // a surrogate
  CHECK(printable("\xe6\x97") == "\\xe6\\x97");               // cut off
  CHECK(printable("\xf4\x90\x80\x80").starts_with("\\xf4"));  // above U+10FFFF
  CHECK(printable("\xe6\x97"
                  "abc") ==
        "\\xe6\\x97"
        "abc");
}

TEST_CASE("long text ends between characters", "[base]") {
  CHECK(printable(std::string(2000, 'x')) == std::string(1000, 'x') + " ...");
  CHECK(printable("日本語", 7) == "日本 ...");
  CHECK(printable("ab\x1b", 4) == "ab ...");
}

}  // namespace hone
