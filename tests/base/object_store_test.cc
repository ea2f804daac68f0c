#include "base/object_store.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "base/sha256.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

std::string key_of(int number) { return Sha256().add(std::to_string(number)).hex(); }

struct Folder {
  TempDir parent;
  std::string path = (parent.path() / "objects").string();
  ObjectStore store(uint64_t limit_bytes = 1 << 20) const { return ObjectStore({path, limit_bytes}); }
  fs::path file(const std::string& key) const { return fs::path(path) / key.substr(0, 2) / key; }
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file()) sum += entry.file_size();
    return sum;
  }
};

void write(const fs::path& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

}  // namespace

TEST_CASE("SHA-256 of the standard's examples", "[object_store]") {
  CHECK(Sha256().hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(Sha256().add("abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  CHECK(Sha256().add(two_blocks).hex() == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  const std::string million(1000000, 'a');
  CHECK(Sha256().add(million).hex() == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  for (const size_t cut : {1u, 55u, 63u, 64u, 65u, 130u})
    CHECK(Sha256().add(million.substr(0, cut)).add(million.substr(cut)).hex() == Sha256().add(million).hex());
}

TEST_CASE("an object store gives back what was put, in another process's store too", "[object_store]") {
  const Folder folder;
  ObjectStore store = folder.store();
  CHECK_FALSE(store.get(key_of(1)));
  const std::string value("code\0with zeros\n", 16);
  CHECK(store.put(key_of(1), value));
  CHECK(store.get(key_of(1)) == value);
  CHECK(folder.store().get(key_of(1)) == value);
  CHECK(store.put(key_of(2), ""));
  CHECK(store.get(key_of(2)) == "");
  CHECK_FALSE(store.put("../../etc/passwd", value));
  CHECK_FALSE(store.get("../../etc/passwd"));
}

TEST_CASE("a file that is not what was put is a miss and goes", "[object_store]") {
  const Folder folder;
  ObjectStore store = folder.store();
  const std::string key = key_of(1), other = key_of(2);
  store.put(key, std::string(100, 'x'));
  const std::string whole = read_file(folder.file(key).string());
  std::string changed = whole;
  SECTION("a byte of the value") { changed[changed.size() - 1] ^= 1; }
  SECTION("a byte of the digest") { changed[100] ^= 1; }
  SECTION("cut short") { changed.resize(changed.size() / 2); }
  SECTION("nothing left") { changed.clear(); }
  SECTION("longer") { changed += "x"; }
  write(folder.file(key), changed);
  CHECK_FALSE(store.get(key));
  CHECK_FALSE(fs::exists(folder.file(key)));
  CHECK(store.put(key, "y"));
  CHECK(store.get(key) == "y");
  // Good content under another key's name.
  fs::create_directories(folder.file(other).parent_path());
  write(folder.file(other), whole);
  CHECK_FALSE(store.get(other));
}

TEST_CASE("an object store stays within its limit and keeps what is used", "[object_store]") {
  const Folder folder;
  constexpr uint64_t kLimit = 100000;
  ObjectStore store = folder.store(kLimit);
  const std::string value(1000, 'v');
  const auto age = [&](int number, int hours) {
    fs::last_write_time(folder.file(key_of(number)), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  CHECK_FALSE(store.put(key_of(0), std::string(kLimit / 2, 'v')));  // larger than a tenth of the limit
  for (int i = 1; i <= 70; ++i) store.put(key_of(i), value), age(i, 100 - i);
  CHECK(store.get(key_of(1)));  // used now, though written first
  for (int i = 71; i <= 300; ++i) {
    store.put(key_of(i), value);
    CHECK(folder.bytes() <= kLimit + kLimit / 8);
  }
  CHECK(store.get(key_of(300)));
  CHECK_FALSE(store.get(key_of(2)));
}

TEST_CASE("the least recently used files go first", "[object_store]") {
  const Folder folder;
  const std::string value(1000, 'v');
  {
    ObjectStore store = folder.store();
    for (int i = 0; i < 20; ++i) {
      store.put(key_of(i), value);
      fs::last_write_time(folder.file(key_of(i)), fs::file_time_type::clock::now() - std::chrono::hours(100 - i));
    }
    CHECK(store.get(key_of(0)));
  }
  ObjectStore small = folder.store(14000);
  small.put(key_of(100), value);  // the first one makes room
  CHECK(small.get(key_of(0)));
  CHECK(small.get(key_of(19)));
  CHECK(small.get(key_of(100)));
  CHECK_FALSE(small.get(key_of(1)));
  CHECK(folder.bytes() <= 14000);
}

TEST_CASE("processes that write the same keys at once leave whole files", "[object_store]") {
  const Folder folder;
  constexpr int kWriters = 4, kKeys = 40;
  std::vector<pid_t> writers;
  for (int w = 0; w < kWriters; ++w) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ObjectStore store = folder.store(60000);
      bool fine = true;
      for (int round = 0; round < 5; ++round)
        for (int i = 0; i < kKeys; ++i) {
          const std::string value(1000 + 10 * i, static_cast<char>('a' + i % 26));
          store.put(key_of(i), value);
          const auto found = store.get(key_of(i));  // may have had to go meanwhile, but is never another
          fine = fine && (!found || *found == value);
        }
      ::_exit(fine ? 0 : 1);
    }
    writers.push_back(pid);
  }
  for (const pid_t pid : writers) {
    int status = -1;
    ::waitpid(pid, &status, 0);
    CHECK(status == 0);
  }
  for (const auto& entry : fs::recursive_directory_iterator(folder.path))
    if (entry.is_regular_file()) CHECK(entry.path().extension() != ".part");
}

TEST_CASE("folders of a moment that are left behind go after an hour", "[object_store]") {
  const Folder folder;
  folder.store();
  const fs::path path(folder.path), old = path / "scratch.old", young = path / "scratch.new", other = path / "other";
  for (const fs::path& made : {old, young, other}) {
    fs::create_directory(made);
    write(made / "file", "x");
  }
  for (const fs::path& aged : {old, other})
    fs::last_write_time(aged, fs::file_time_type::clock::now() - std::chrono::hours(2));
  REQUIRE(folder.store().put(Sha256().add("key").hex(), "value"));
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(young / "file"));
  CHECK(fs::exists(other / "file"));
}

TEST_CASE("a folder that others may write to is refused", "[object_store]") {
  const Folder folder;
  fs::create_directory(folder.path);
  ::chmod(folder.path.c_str(), 0777);
  CHECK_THROWS_AS(folder.store(), Error);
  ::chmod(folder.path.c_str(), 0700);
  CHECK_NOTHROW(folder.store());
  write(folder.parent.path() / "file", "");
  CHECK_THROWS_AS(ObjectStore({(folder.parent.path() / "file").string()}), Error);
}

TEST_CASE("a store whose folder goes away misses and does not fail", "[object_store]") {
  const Folder folder;
  ObjectStore store = folder.store();
  store.put(key_of(1), "x");
  fs::remove_all(folder.path);
  CHECK_FALSE(store.get(key_of(1)));
  CHECK_FALSE(store.put(key_of(1), "x"));
}

}  // namespace hone
