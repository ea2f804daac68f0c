#include <catch2/catch.hpp>

#include "wire/process.h"

using hone::wire::last_words;

TEST_CASE("last words are the most informative line of a program's output") {
  CHECK(last_words("") == "");
  CHECK(last_words("\n \n") == "");
  CHECK(last_words("one\ntwo\n") == "two");
  CHECK(last_words("W xla/a.cc:1] old\n2026-08-01 10:00:00.5: F xla/b.cc:2] Check failed: x == y\n"
                   "*** Check failure stack trace: ***\n  @ 0x1\n*** SIGABRT received ***\n") ==
        "xla/b.cc:2] Check failed: x == y");
  CHECK(last_words(
            "why it ended\nWARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
            "I0000 00:00:1.5 7 port.cc:153] oneDNN is on\n2026-08-01 10:00:00.5: W a.cc:1] slow\n") == "why it ended");
  CHECK(last_words("F0801 10:00:00.1 7 b.cc:2] no layout\nF0801 10:00:00.1 7 c.cc:2] second\n") ==
        "F0801 10:00:00.1 7 b.cc:2] no layout");
  CHECK(last_words("terminate called after throwing an instance of 'std::length_error'\n  what():  too long\n") ==
        "terminate called after throwing an instance of 'std::length_error', what():  too long");
  CHECK(last_words("LLVM ERROR: cannot select\nPLEASE submit a bug report\n") == "LLVM ERROR: cannot select");
}

TEST_CASE("last words are one short line") {
  const std::string words = last_words("Check failed: a\tb\x1b[0m" + std::string(1000, 'x'));
  CHECK(words.size() == 300);
  CHECK(words.substr(0, 19) == "Check failed: a b [");
  CHECK(words.substr(297) == "...");
  std::string wide = "Check failed: ";
  for (int i = 0; i < 300; ++i) wide += "é";
  const std::string cut = last_words(wide);
  CHECK(cut.size() <= 300);
  CHECK((cut.size() - 14 - 3) % 2 == 0);
}
