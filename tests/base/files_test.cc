#include "base/files.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"

using namespace hone;
namespace fs = std::filesystem;

namespace {

std::string gzip(const std::string& content) {
  std::string packed(compressBound(content.size()) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string message_of(const std::string& path, uint64_t limit = kMaxFileBytes) {
  try {
    read_file(path, limit);
  } catch (const Error& error) {
    CHECK(error.where() == path);
    CHECK_FALSE(error.hint().empty());
    return error.what();
  }
  return "";
}

size_t entries(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("what is written is read back") {
  TempDir dir;
  const std::string path = dir.path() / "f";
  for (const std::string& content : {std::string(), std::string("a\0b\n", 4), std::string(3'000'001, 'x')}) {
    write_file(path, content);
    CHECK(read_file(path) == content);
  }
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("gzip files are unpacked by their content") {
  TempDir dir;
  const std::string path = dir.path() / "program.hlo", large(5'000'000, 'y');
  write_file(path, gzip("HloModule m"));
  CHECK(read_file(path) == "HloModule m");
  write_file(path, gzip("one ") + gzip(large));
  CHECK(read_file(path) == "one " + large);
  write_file(path, gzip("one ") + std::string(512, '\0'));
  CHECK(read_file(path) == "one ");
}

TEST_CASE("files that cannot be read say why") {
  TempDir dir;
  const std::string path = dir.path() / "f", packed = gzip("HloModule something long enough to be cut short");
  CHECK(message_of(dir.path() / "missing") != "");
  CHECK_THAT(message_of(dir.path()), Catch::Contains("folder"));
  write_file(path, packed.substr(0, packed.size() / 2));
  CHECK_THAT(message_of(path), Catch::Contains("too early"));
  std::string damaged = packed;
  damaged[packed.size() / 2] ^= 0x55;
  write_file(path, damaged);
  CHECK_THAT(message_of(path), Catch::Contains("gzip"));
  write_file(path, "12345");
  CHECK(read_file(path, 5) == "12345");
  CHECK_THAT(message_of(path, 4), Catch::Contains("limit"));
  write_file(path, gzip(std::string(100'000, 'z')));
  CHECK(read_file(path, 100'000).size() == 100'000);
  CHECK_THAT(message_of(path, 99'999), Catch::Contains("limit"));
}

TEST_CASE("a dash reads standard input") {
  TempDir dir;
  const std::string path = dir.path() / "f";
  write_file(path, gzip("from a pipe"));
  const int saved = ::dup(0);
  REQUIRE(std::freopen(path.c_str(), "r", stdin) != nullptr);
  const std::string content = read_file("-");
  REQUIRE(::dup2(saved, 0) == 0);
  ::close(saved);
  CHECK(content == "from a pipe");
}

TEST_CASE("a failed write leaves the old file and nothing else") {
  TempDir dir;
  CHECK_THROWS_AS(write_file(dir.path() / "no" / "f", "x"), RunError);
  fs::create_directory(dir.path() / "folder");
  CHECK_THROWS_AS(write_file(dir.path() / "folder", "x"), RunError);
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("a process that is killed while it writes leaves the old file and nothing else") {
  TempDir dir;
  const std::string path = dir.path() / "f", large(256 << 20, 'x');  // takes longer than the longest wait
  write_file(path, "old");
  for (const int wait_us : {500, 5'000, 20'000}) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) write_file(dir.path() / "other", large);
    }
    ::usleep(static_cast<useconds_t>(wait_us));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    fs::remove(dir.path() / "other");
    CHECK(entries(dir.path()) == 1);
    CHECK(read_file(path) == "old");
  }
}

TEST_CASE("writing follows links and leaves devices alone") {
  TempDir dir;
  const std::string target = dir.path() / "target", link = dir.path() / "link";
  write_file(target, "old");
  fs::create_symlink("target", link);
  write_file(link, "new");
  CHECK(fs::is_symlink(link));
  CHECK(read_file(target) == "new");
  write_file("/dev/null", "x");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a temporary folder is removed with its contents") {
  fs::path path;
  {
    TempDir dir("hone-test"), other("hone-test");
    path = dir.path();
    CHECK(path != other.path());
    CHECK(fs::is_directory(path));
    fs::create_directories(path / "a" / "b");
    write_file(path / "a" / "b" / "f", "x");
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("the program finds its own folder") { CHECK(fs::is_directory(executable_dir())); }
