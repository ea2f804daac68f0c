#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "data/database.h"
#include "tests/data/records.h"

namespace hone {
TEST_CASE("compacting keeps the newest rows of each candidate, and gives room back", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "records.db";
  Database database = Database::open(path);
  Record row = kernel_record();
  for (int i = 0; i < 300; ++i) {
    row.created = fmt::format("2026-08-01T12:00:00.{:03}Z", i);
    row.seed = static_cast<uint64_t>(i);
    row.note = std::string(1000, 'x');
    REQUIRE(database.add(row));
  }
  for (const char* status : {"crashed", "timed_out"}) {  // other outcomes and conditions are other candidates
    Record other = row;
    other.status = status;
    other.verified = false;
    REQUIRE(database.add(other));
  }
  Record limited = row;
  limited.host = "cpu x 2 at most avx2";
  REQUIRE(database.add(limited));
  REQUIRE(database.add(program_record()));

  CompactReport all = database.compact();
  CHECK(all.records_removed == 0);
  CHECK(database.info().records == 304);
  const CompactReport few = database.compact(2);
  CHECK(few.records_removed == 298);
  CHECK(few.bytes_before == all.bytes_after);
  CHECK(few.bytes_after < few.bytes_before / 4);
  CHECK(database.info().records == 6);
  std::vector<std::string> times;
  for (const Record& left : database.find_kernel("k1", row.host, row.threads, row.xla_version))
    if (left.status == "ok") times.push_back(left.created);
  CHECK(times == std::vector<std::string>{"2026-08-01T12:00:00.298Z", "2026-08-01T12:00:00.299Z"});
  CHECK(database.compact(2).records_removed == 0);
  CHECK(database.check().empty());
  CHECK(database.add(kernel_record("k9")));
  CHECK_THROWS_AS(Database::open(path, {.read_only = true}).compact(), RunError);
}

TEST_CASE("a reader undoes what a killed process began to write", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "records.db";
  {
    Database database = Database::open(path);
    for (int i = 0; i < 200; ++i) REQUIRE(database.add(kernel_record("k" + std::to_string(i))));
    database.seal();
  }
  const pid_t child = ::fork();
  if (child == 0) {  // ends in the middle of a transaction, with half of it in the file
    sqlite3* writer = nullptr;
    sqlite3_open(path.c_str(), &writer);
    sqlite3_exec(writer, "PRAGMA cache_size = 1; BEGIN; UPDATE records SET note = hex(randomblob(2000))", nullptr,
                 nullptr, nullptr);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  REQUIRE(std::filesystem::file_size(path + "-journal") > 0);
  const Database database = Database::open(path, {.read_only = true});
  CHECK(database.info().records == 200);
  CHECK(database.find_kernel("k7", "cpu x 2", 1, "2.21.0").at(0).note == kernel_record().note);
  CHECK(database.check().empty());
}

}  // namespace hone
