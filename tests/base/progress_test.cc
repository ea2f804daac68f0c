#include "base/progress.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace hone;

namespace {

// The output of a progress line to a pipe during `steps` updates, one second apart.
std::string written(ProgressOptions options, int steps) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_NONBLOCK) == 0);
  double now = 100;
  options.fd = ends[1];
  options.now_s = [&] { return now; };
  {
    Progress progress("tune", options);
    for (int i = 1; i <= steps; ++i) {
      now += 1;
      progress.update(i, "note");
    }
  }
  char buffer[4096];
  const ssize_t got = ::read(ends[0], buffer, sizeof buffer);
  ::close(ends[0]);
  ::close(ends[1]);
  return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : "";
}

}  // namespace

TEST_CASE("the progress text shows count, rate and the time left") {
  ProgressOptions options;
  CHECK(progress_text("tune", 0, options, 0, "") == "tune 0");
  options.total = 40;
  CHECK(progress_text("tune", 0, options, 1, "") == "tune 0/40");
  CHECK(progress_text("tune", 10, options, 5, "best 1.2x") == "tune 10/40 · 2/s · 15 s left · best 1.2x");
  options.budget_s = 10;
  CHECK(progress_text("tune", 10, options, 5, "") == "tune 10/40 · 2/s · 5 s left");
  options.total = 0;
  CHECK(progress_text("tune", 10, options, 20, "") == "tune 10 · 0.5/s · 0 s left");
  options.budget_s = 200;
  CHECK(progress_text("tune", 0, options, 0, "") == "tune 0 · 3 min 20 s left");
}

TEST_CASE("what an earlier run did counts for neither rate nor time left") {
  ProgressOptions options;
  options.total = 40;
  options.known = 10;
  CHECK(progress_text("collect", 10, options, 5, "") == "collect 10/40");
  CHECK(progress_text("collect", 20, options, 5, "") == "collect 20/40 · 2/s · 10 s left");
}

TEST_CASE("without a terminal a line is printed every five seconds") {
  ProgressOptions options;
  CHECK(written(options, 4) == "");
  CHECK(written(options, 11) == "tune 5 · 1/s · note\ntune 10 · 1/s · note\n");
  options.quiet = true;
  CHECK(written(options, 11) == "");
}
