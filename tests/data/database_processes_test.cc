// Several processes that use one database, some of them killed.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "base/files.h"
#include "data/database.h"
#include "tests/data/records.h"

namespace hone {

TEST_CASE("several processes create and write one database at once", "[data]") {
  constexpr int kProcesses = 4, kRows = 100;
  const TempDir folder;
  const std::string path = folder.path() / "r.db";
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(in_child([&] {
      Database database = Database::open(path);
      for (int row = 0; row < kRows; ++row)
        database.add(kernel_record("k" + std::to_string(process), std::to_string(row)));
      database.save_tuned(tuned_result());
    }));
  }
  for (pid_t child : children) CHECK(exit_code(child) == 0);
  Database database = Database::open(path);
  CHECK(database.info().records == kProcesses * kRows);
  CHECK(database.info().tuned == 1);
  CHECK(database.check().empty());
}

TEST_CASE("many processes create one database at the same moment", "[data]") {
  for (int round = 0; round < 10; ++round) {
    const TempDir folder;
    const std::string path = folder.path() / "r.db";
    int gate[2];
    REQUIRE(pipe(gate) == 0);
    std::vector<pid_t> children;
    for (int process = 0; process < 8; ++process) {
      children.push_back(in_child([&] {
        close(gate[1]);
        char byte;
        if (read(gate[0], &byte, 1) == 0) Database::open(path);  // the gate opens when the parent closes its end
      }));
    }
    close(gate[0]);
    close(gate[1]);
    for (pid_t child : children) CHECK(exit_code(child) == 0);
    CHECK(Database::open(path).check().empty());
  }
}

TEST_CASE("a killed writer loses only the row in flight", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "r.db";
  int64_t acknowledged = 0;
  for (int round = 0; round < 5; ++round) {
    int pipe_ends[2];
    REQUIRE(pipe(pipe_ends) == 0);
    const pid_t child = in_child([&] {
      close(pipe_ends[0]);
      Database database = Database::open(path);
      for (int row = 0;; ++row) {
        database.add(kernel_record("k" + std::to_string(round), std::to_string(row)));
        if (write(pipe_ends[1], "x", 1) != 1) return;
      }
    });
    close(pipe_ends[1]);
    char byte;
    for (int row = 0; row < 20 + 13 * round; ++row, ++acknowledged) REQUIRE(read(pipe_ends[0], &byte, 1) == 1);
    kill(child, SIGKILL);
    CHECK(exit_code(child) == -SIGKILL);
    while (read(pipe_ends[0], &byte, 1) == 1) ++acknowledged;  // rows written before the signal arrived
    close(pipe_ends[0]);
    Database database = Database::open(path);
    CHECK(database.check().empty());
    const int64_t records = database.info().records;
    CHECK(records >= acknowledged);
    CHECK(records <= acknowledged + 1 + round);
    CHECK(database.add(program_record()));  // the next process can write
    ++acknowledged;
  }
}

}  // namespace hone
