#include "data/event_file.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "base/files.h"

using namespace hone;

TEST_CASE("CRC-32C of the standard check string, plain and masked") {
  CHECK(crc32c("123456789") == 0xe3069283u);
  CHECK(crc32c("") == 0);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aau);  // RFC 3720, B.4
  CHECK(masked_crc32c("123456789") == ((0xe3069283u >> 15 | 0xe3069283u << 17) + 0xa282ead8u));
}

TEST_CASE("events have the bytes of their messages") {
  const std::string one = std::string("\x09") + std::string("\0\0\0\0\0\0\xf0\x3f", 8);  // wall_time: 1.0
  CHECK(version_event(1) == one +
                                "\x1a\x0d"
                                "brain.Event:2");
  const std::string value = std::string(
                                "\x0a\x01"
                                "a"
                                "\x15") +
                            std::string("\0\0\x00\x40", 4);  // tag "a", 2.0
  CHECK(scalar_event(1, 300, "a", 2) == one + "\x10\xac\x02" + "\x2a\x0a" + "\x0a\x08" + value);
}

TEST_CASE("an event file is a sequence of records with correct checksums") {
  const TempDir folder;
  std::string path;
  {
    EventFile file((folder.path() / "a" / "b").string(), 12.5);
    file.scalar(13, 1, "train/loss", 0.5);
    file.scalar(14, 2, "train/loss", 0.25);
    path = file.path();
  }
  const std::string content = read_file(path);
  size_t at = 0, records = 0;
  while (at < content.size()) {
    uint64_t length = 0;
    uint32_t length_crc = 0, crc = 0;
    REQUIRE(at + 12 <= content.size());
    std::memcpy(&length, content.data() + at, 8);
    std::memcpy(&length_crc, content.data() + at + 8, 4);
    REQUIRE(at + 16 + length <= content.size());
    std::memcpy(&crc, content.data() + at + 12 + length, 4);
    CHECK(length_crc == masked_crc32c(content.substr(at, 8)));
    CHECK(crc == masked_crc32c(content.substr(at + 12, length)));
    at += 16 + length;
    ++records;
  }
  CHECK(records == 3);
  CHECK(path.find("events.out.tfevents.12.") != std::string::npos);
}
