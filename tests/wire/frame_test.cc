#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <numeric>
#include <thread>

#include "wire/client.h"
#include "wire/reply.h"

using namespace hone::wire;

TEST_CASE("frames of all sizes arrive completely") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{5'000'000}}) {
    std::vector<uint8_t> sent(size), received;
    std::iota(sent.begin(), sent.end(), uint8_t{0});
    bool written = false;
    std::thread writer([&] { written = write_frame(ends[0], sent.data(), sent.size()); });
    CHECK(read_frame(ends[1], received));
    writer.join();
    CHECK(written);
    CHECK(received == sent);
  }
  ::close(ends[0]);
  std::vector<uint8_t> none;
  CHECK_FALSE(read_frame(ends[1], none));
  ::close(ends[1]);
}

TEST_CASE("the length of a frame alone allocates little") {
  constexpr size_t kMiB = size_t{1} << 20;
  CHECK(frame_room(100, 0) == 100);
  CHECK(frame_room(2000 * kMiB, 0) == 64 * kMiB);
  CHECK(frame_room(2000 * kMiB, 64 * kMiB) == 128 * kMiB);
  CHECK(frame_room(100 * kMiB, 64 * kMiB) == 100 * kMiB);
}

TEST_CASE("truncated and too long frames are refused") {
  int ends[2];
  std::vector<uint8_t> data;
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const uint32_t promised = 100;
  REQUIRE(::write(ends[0], &promised, sizeof promised) == sizeof promised);
  REQUIRE(::write(ends[0], "short", 5) == 5);
  ::close(ends[0]);
  CHECK_FALSE(read_frame(ends[1], data));
  ::close(ends[1]);

  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const uint32_t too_long = 0xffffffffu;
  REQUIRE(::write(ends[0], &too_long, sizeof too_long) == sizeof too_long);
  CHECK_FALSE(read_frame(ends[1], data));
  ::close(ends[0]);
  ::close(ends[1]);
}
