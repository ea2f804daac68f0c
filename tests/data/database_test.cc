#include "data/database.h"

#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "tests/data/old_schema.h"
#include "tests/data/records.h"

namespace hone {
TEST_CASE("records come back as they were stored", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "records.db";
  Record stored = kernel_record();
  {
    Database database = Database::open(path);
    CHECK(database.add(stored));
    CHECK(database.add(kernel_record("k2")));
    CHECK(database.add(program_record()));
    Record elsewhere = stored;
    elsewhere.host = "another cpu x 8";
    CHECK(database.add(elsewhere));
  }
  const Database database = Database::open(path, {.read_only = true});
  const std::vector<Record> found = database.find_kernel("k1", "cpu x 2", 1, "2.21.0");
  REQUIRE(found.size() == 1);
  CHECK(found[0].id > 0);
  CHECK(found[0].created.size() == std::string("2026-08-01T12:00:00.123Z").size());
  stored.id = found[0].id;
  stored.created = found[0].created;
  CHECK(found[0] == stored);
  CHECK(database.find_kernel("k1", "cpu x 2", 2, "2.21.0").empty());
  CHECK(database.find_kernel("k1", "cpu x 2", 1, "2.22.0").empty());
  CHECK(database.find_kernel("k3", "cpu x 2", 1, "2.21.0").empty());
  REQUIRE(database.find_program("p1", "cpu x 2", 1, "2.21.0").size() == 1);  // not the program's kernels
  CHECK(database.find_program("p1", "cpu x 2", 1, "2.21.0")[0].scope == "program");
  CHECK(database.check().empty());
}

TEST_CASE("the best record is verified and has the highest lower bound", "[data]") {
  const TempDir folder;
  Database database = Database::open(folder.path() / "r.db");
  CHECK_FALSE(database.best_kernel("k1", "cpu x 2", 1, "2.21.0"));
  database.add(kernel_record("k1", "loop", 1.2));
  Record uncertain = kernel_record("k1", "tile=1,8", 1.9);
  uncertain.ratio_low = 0.8;
  database.add(uncertain);
  Record unproved = kernel_record("k1", "tile=4,4", 5);
  unproved.status = "unverified";
  unproved.verified = false;
  database.add(unproved);
  database.add(failed_record("crashed"));
  const auto best = database.best_kernel("k1", "cpu x 2", 1, "2.21.0");
  REQUIRE(best);
  CHECK(best->decisions == "loop");
  CHECK(database.find_kernel("k1", "cpu x 2", 1, "2.21.0").size() == 4);
  database.add(program_record(1.1));
  database.add(program_record(1.3));
  REQUIRE(database.best_program("p1", "cpu x 2", 1, "2.21.0"));
  CHECK(database.best_program("p1", "cpu x 2", 1, "2.21.0")->ratio == 1.3);
}

TEST_CASE("equal records are stored once", "[data]") {
  const TempDir folder;
  Database database = Database::open(folder.path() / "r.db");
  Record record = kernel_record();
  record.created = "2026-08-01T12:00:00.123Z";
  CHECK(database.add(record));
  CHECK_FALSE(database.add(record));
  record.rounds += 1;
  CHECK(database.add(record));
  CHECK(database.info().records == 2);
}

TEST_CASE("invalid records are refused", "[data]") {
  const TempDir folder;
  Database database = Database::open(folder.path() / "r.db");
  const auto refused = [&](const std::function<void(Record&)>& spoil) {
    Record record = kernel_record();
    spoil(record);
    CHECK_THROWS_AS(database.add(record), InternalError);
    CHECK_FALSE(problems(record).empty());
  };
  refused([](Record& r) { r.scope = "universe"; });
  refused([](Record& r) { r.kernel.clear(); });
  refused([](Record& r) { r.status = "great"; });
  refused([](Record& r) { r.status = "mismatch"; });  // but verified
  refused([](Record& r) { r.verified = false; });     // though ok
  refused([](Record& r) { r.stage = "run"; });        // though ok
  refused([](Record& r) { r.ratio = 0; });
  refused([](Record& r) { r.ratio = std::nan(""); });
  refused([](Record& r) { r.ratio_low = 2; });
  refused([](Record& r) { r.ratio_high = 1; });
  refused([](Record& r) { r.candidate_ns = 0; });
  refused([](Record& r) { r.compile_ms = -1; });
  refused([](Record& r) { r.rounds = 0; });
  refused([](Record& r) { r.threads = 0; });
  CHECK(database.info().records == 0);

  for (const std::string& status : record_statuses())
    if (status != "ok" && status != "unverified") CHECK(database.add(failed_record(status)));
  Record nowhere = failed_record("crashed");
  nowhere.stage = "linking";
  CHECK_FALSE(problems(nowhere).empty());
  Record nan_error = failed_record("mismatch");
  nan_error.kernel = "k9";
  nan_error.max_error = std::nan("");
  CHECK(database.add(nan_error));
  CHECK(std::isinf(database.find_kernel("k9", "cpu x 2", 1, "2.21.0").at(0).max_error));
  CHECK(database.check().empty());
}

TEST_CASE("results of tuning are found by their conditions and replaced", "[data]") {
  const TempDir folder;
  Database database = Database::open(folder.path() / "r.db");
  Tuned tuned = tuned_result();
  CHECK_FALSE(database.find_tuned(tuned));
  database.save_tuned(tuned);
  auto found = database.find_tuned(tuned);
  REQUIRE(found);
  tuned.created = found->created;
  CHECK(*found == tuned);
  tuned.speedup_high = 2.5;
  database.save_tuned(tuned);
  CHECK(database.find_tuned(tuned)->speedup_high == 2.5);
  CHECK(database.info().tuned == 1);
  for (const auto& change : std::vector<std::function<void(Tuned&)>>{
           [](Tuned& t) { t.program = "p2"; }, [](Tuned& t) { t.host = "h"; }, [](Tuned& t) { t.threads = 2; },
           [](Tuned& t) { t.weights = ""; }, [](Tuned& t) { t.xla_version = "3"; },
           [](Tuned& t) { t.options = "fast-math"; }}) {
    Tuned other = tuned;
    change(other);
    CHECK_FALSE(database.find_tuned(other));
  }
  tuned.decisions = "{";
  CHECK_THROWS_AS(database.save_tuned(tuned), InternalError);
}

TEST_CASE("info counts", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "r.db";
  Database database = Database::open(path);
  CHECK(database.info().oldest.empty());
  database.add(kernel_record("k1"));
  database.add(kernel_record("k2"));
  database.add(program_record());
  database.add(failed_record("crashed"));
  database.save_tuned(tuned_result());
  const DatabaseInfo info = database.info();
  CHECK(info.path == path);
  CHECK(info.schema_version == 6);
  CHECK(info.records == 4);
  CHECK(info.kernel_records == 3);
  CHECK(info.program_records == 1);
  CHECK(info.verified == 3);
  CHECK(info.programs == 1);
  CHECK(info.kernels == 2);
  CHECK(info.tuned == 1);
  CHECK(info.by_status == std::map<std::string, int64_t>{{"ok", 3}, {"crashed", 1}});
  CHECK(info.by_host == std::map<std::string, int64_t>{{"cpu x 2", 4}});
  CHECK(info.file_bytes > 0);
  CHECK(info.oldest <= info.newest);
}

TEST_CASE("export writes one JSON object per line", "[data]") {
  const TempDir folder;
  Database database = Database::open(folder.path() / "r.db");
  Record record = failed_record("mismatch");
  record.max_error = std::numeric_limits<double>::infinity();
  record.note = "broken \xff bytes\nand lines";
  record.stage = "compare";
  database.add(record);
  database.save_tuned(tuned_result());
  std::ostringstream out;
  database.export_jsonl(out);
  std::istringstream lines(out.str());
  std::string line;
  REQUIRE(std::getline(lines, line));
  auto json = nlohmann::json::parse(line);
  CHECK(json["table"] == "records");
  CHECK(json["kernel"] == "k1");
  CHECK(json["status"] == "mismatch");
  CHECK(json["seed"] == 0xffffffffffffffffull);
  CHECK(json["max_error"].is_null());
  CHECK(json["stage"] == "compare");
  CHECK(json["finished"] == false);
  REQUIRE(std::getline(lines, line));
  json = nlohmann::json::parse(line);
  CHECK(json["table"] == "tuned");
  CHECK(json["decisions"]["kernel"]["k1"] == "tile=8,8");
  CHECK_FALSE(std::getline(lines, line));
}

TEST_CASE("merge adds what is new, once", "[data]") {
  const TempDir folder;
  const std::string other_path = folder.path() / "other.db";
  Database here = Database::open(folder.path() / "here.db");
  Record shared = kernel_record("shared");
  shared.created = "2026-08-01T12:00:00.000Z";
  Tuned old_result = tuned_result(), new_result = tuned_result();
  old_result.created = "2026-08-01T12:00:00.000Z";
  new_result.created = "2026-08-02T12:00:00.000Z";
  new_result.seconds = 7;
  here.add(shared);
  here.save_tuned(old_result);
  {
    Database other = Database::open(other_path);
    other.add(kernel_record("k1"));
    other.add(shared);
    other.add(kernel_record("k2"));
    other.save_tuned(new_result);
  }
  MergeReport report = here.merge(other_path);
  CHECK(report.records_added == 2);
  CHECK(report.records_known == 1);
  CHECK(report.tuned_added == 1);
  CHECK(here.find_tuned(old_result)->seconds == 7);
  report = here.merge(other_path);
  CHECK(report.records_added == 0);
  CHECK(report.records_known == 3);
  CHECK(report.tuned_known == 1);
  here.save_tuned(old_result);  // an explicit call replaces the newer one
  CHECK(here.find_tuned(old_result)->seconds == 59.5);
  execute_sql(other_path, "UPDATE records SET status = 'great' WHERE kernel = 'k2'");
  CHECK(here.merge(other_path).refused == 1);
  CHECK(here.check().empty());
  CHECK_THROWS_AS(here.merge(folder.path() / "missing.db"), Error);
}

TEST_CASE("the stage and whether a search is finished are stored and merged", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "other.db";
  Record best = kernel_record("k1");
  best.created = "2026-08-01T12:00:00.000Z";
  Record measured = best, failed = failed_record("compile_failed");
  best.finished = true;
  failed.stage = "codegen";
  {
    Database other = Database::open(path);
    CHECK(other.add(measured));
    CHECK(other.add(best));  // differs from the measurement, although of the same millisecond
    CHECK(other.add(failed));
  }
  Database here = Database::open(folder.path() / "here.db");
  CHECK(here.merge(path).records_added == 3);
  CHECK(here.merge(path).records_known == 3);
  const auto found = here.find_kernel("k1", "cpu x 2", 1, "2.21.0");
  REQUIRE(found.size() == 3);
  CHECK_FALSE(found[0].finished);
  CHECK(found[1].finished);
  CHECK(found[1].stage.empty());
  CHECK(found[2].stage == "codegen");
  CHECK(here.check().empty());
}

TEST_CASE("files of other programs are refused", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "x.db";
  SECTION("text") {
    write_file(path, std::string(5000, 'x'));
    CHECK_THROWS_WITH(Database::open(path), Catch::Contains("not a database"));
    CHECK(read_file(path) == std::string(5000, 'x'));
  }
  SECTION("another program's database") {
    execute_sql(path, "CREATE TABLE t (x)");
    CHECK_THROWS_WITH(Database::open(path), Catch::Contains("another program"));
  }
  SECTION("a newer schema") {
    Database::open(path);
    execute_sql(path, "PRAGMA user_version = 99");
    try {
      Database::open(path);
      FAIL("a newer schema was accepted");
    } catch (const Error& error) {
      CHECK_THAT(error.what(), Catch::Contains("99"));
      CHECK(error.where() == path);
      CHECK_THAT(error.hint(), Catch::Contains("newer version"));
    }
  }
  SECTION("a folder, a missing folder, a missing file") {
    CHECK_THROWS_AS(Database::open(folder.path()), Error);
    CHECK_THROWS_AS(Database::open(folder.path() / "no" / "x.db"), Error);
    CHECK_THROWS_AS(Database::open(path, {.read_only = true}), Error);
    CHECK_FALSE(std::filesystem::exists(path));
  }
  SECTION("an empty file is a new database, but not to read") {
    write_file(path, "");
    CHECK_THROWS_AS(Database::open(path, {.read_only = true}), Error);
    CHECK(Database::open(path).info().records == 0);
  }
}

TEST_CASE("read-only databases cannot be written", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "r.db";
  Database::open(path).add(kernel_record());
  Database database = Database::open(path, {.read_only = true});
  CHECK_THROWS_AS(database.add(kernel_record("k2")), RunError);
  CHECK(database.info().records == 1);
}

TEST_CASE("check finds rows changed by other programs", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "r.db";
  {
    Database database = Database::open(path);
    database.add(kernel_record());
    database.save_tuned(tuned_result());
    CHECK(database.check().empty());
  }
  const auto found = [&](const std::string& sql) {
    execute_sql(path, sql);
    std::string lines;
    for (const std::string& line : Database::open(path, {.read_only = true}).check()) lines += line + "\n";
    return lines;
  };
  CHECK_THAT(found("UPDATE records SET note = 'forged'"), Catch::Contains("not what was stored"));
  CHECK_THAT(found("UPDATE records SET ratio = -1"), Catch::Contains("ratio -1"));
  CHECK_THAT(found("UPDATE records SET ratio = 9"), Catch::Contains("outside its interval"));
  CHECK_THAT(found("UPDATE records SET status = 'great'"), Catch::Contains("unknown status 'great'"));
  CHECK_THAT(found("UPDATE tuned SET decisions = 'x'"), Catch::Contains("not JSON"));
}

TEST_CASE("check reports damaged pages", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "r.db";
  {
    Database database = Database::open(path);
    for (int i = 0; i < 500; ++i) database.add(kernel_record("k" + std::to_string(i)));
  }
  std::string content = read_file(path);
  REQUIRE(content.size() > 40'000);
  for (size_t at = 20'000; at < content.size(); ++at) content[at] = static_cast<char>(at * 37);
  write_file(path, content);
  CHECK_FALSE(Database::open(path).check().empty());
}

}  // namespace hone
