// Database::try_writing().
#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "data/database.h"
#include "tests/data/records.h"

namespace hone {

TEST_CASE("trying to write a database changes nothing", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "r.db";
  SECTION("of ours") {
    Database::open(path).add(kernel_record());
    const std::string before = read_file(path);
    Database::try_writing(path);
    CHECK(read_file(path) == before);
  }
  SECTION("an empty file") {
    write_file(path, "");
    Database::try_writing(path);
    CHECK(std::filesystem::file_size(path) == 0);
  }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("trying to write reports why it fails", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "r.db";
  SECTION("no database") {
    write_file(path, std::string(5000, 'x'));
    CHECK_THROWS_WITH(Database::try_writing(path), Catch::Contains("not a database"));
  }
  SECTION("no folder") { CHECK_THROWS_AS(Database::try_writing(path + "/below.db"), Error); }
  SECTION("another writer") {
    Database::open(path);
    sqlite3* other = nullptr;
    REQUIRE(sqlite3_open(path.c_str(), &other) == SQLITE_OK);
    REQUIRE(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
    CHECK_THROWS_WITH(Database::try_writing(path, 10), Catch::Contains("locked by another process"));
    sqlite3_close(other);
    Database::try_writing(path, 10);
  }
}

}  // namespace hone
