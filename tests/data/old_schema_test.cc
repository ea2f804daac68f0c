// Databases of older schemas are read unchanged, and migrated for writing.
#include "tests/data/old_schema.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "base/files.h"
#include "data/database.h"
#include "tests/data/records.h"

namespace hone {
TEST_CASE("files of older schemas are read unchanged and migrated for writing", "[data]") {
  const int version = GENERATE(1, 2);
  const TempDir folder;
  const std::string path = folder.path() / "old.db";
  Record measured = kernel_record("k1"), best = measured, failed = failed_record("run_failed");
  measured.created = best.created = failed.created = "2026-08-01T12:00:00.000Z";
  best.note = kFinishedNote;
  execute_sql(path, kSchema1);
  if (version == 2) execute_sql(path, kSchema2);
  for (const Record& record : {measured, best, failed}) execute_sql(path, old_insert(record));
  const auto check_rows = [&](const Database& database) {
    const auto found = database.find_kernel("k1", "cpu x 2", 1, "2.21.0");
    REQUIRE(found.size() == 3);
    CHECK_FALSE(found[0].finished);
    CHECK(found[1].finished);
    CHECK_FALSE(found[2].finished);
    for (const Record& record : found) CHECK(record.stage.empty());
    CHECK(found[0].note == measured.note);
    CHECK(found[1].ratio == best.ratio);
    REQUIRE(database.best_kernel("k1", "cpu x 2", 1, "2.21.0"));
    CHECK(database.check().empty());
    std::ostringstream out;
    database.export_jsonl(out);
    CHECK_THAT(out.str(), Catch::Contains("\"finished\":true"));
  };
  Database merged = Database::open(folder.path() / "merged.db");
  {
    const Database old = Database::open(path, {.read_only = true});
    CHECK(old.info().schema_version == version);
    check_rows(old);
    CHECK(merged.merge(path).records_added == 3);
    CHECK(Database::open(path, {.read_only = true}).info().schema_version == version);  // unchanged
  }
  {
    Database database = Database::open(path);
    CHECK(database.info().schema_version == 6);
    CHECK_FALSE(database.find_machine("cpu x 2"));
    database.save_machine("cpu x 2", "{}");
    CHECK(database.find_machine("cpu x 2") == "{}");
    check_rows(database);
    CHECK_FALSE(database.add(measured));  // an older row equals the new one with the same content
    best.finished = true;
    CHECK_FALSE(database.add(best));
    failed.stage = "run";
    CHECK(database.add(failed));
    CHECK(database.check().empty());
  }
  CHECK(merged.merge(path).records_known == 3);  // the same rows, before and after
  CHECK(merged.info().records == 4);
  CHECK(merged.check().empty());
}

TEST_CASE("notes of the third schema become columns", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "old.db";
  Record kernel = kernel_record("structure:1"), program = program_record();
  kernel.created = program.created = "2026-08-01T12:00:00.000Z";
  kernel.note = "won on 128x256";
  program.decisions = "option a=1";
  program.note = "against option b=2; the clock was not steady";
  Record plain = program;
  plain.note = "against option b=2";
  plain.seed = 5;
  for (const char* schema : {kSchema1, kSchema2, kSchema3}) execute_sql(path, schema);
  for (const Record& record : {kernel, program, plain}) execute_sql(path, old_insert(record, 3));
  const auto check_rows = [&](const Database& database) {
    CHECK(database.check().empty());
    const auto kernels = database.find_kernel("structure:1", "cpu x 2", 1, "2.21.0");
    REQUIRE(kernels.size() == 1);
    CHECK(kernels[0].output_dims == "128x256");
    CHECK(kernels[0].note.empty());
    const auto programs = database.find_program(program.program, "cpu x 2", 1, "2.21.0");
    REQUIRE(programs.size() == 2);
    for (const Record& row : programs) CHECK(row.baseline == "option b=2");
    CHECK(programs[0].note == "the clock was not steady");
    CHECK(programs[1].note.empty());
    CHECK_FALSE(database.best_program(program.program, "cpu x 2", 1, "2.21.0"));  // timed against another baseline
  };
  Database merged = Database::open(folder.path() / "merged.db");
  CHECK(merged.merge(path).records_added == 3);
  check_rows(merged);
  check_rows(Database::open(path));
  CHECK(merged.merge(path).records_known == 3);  // the same rows, before and after
}

TEST_CASE("rows of the fifth schema have no probe of the core", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "old.db";
  Record record = kernel_record();
  record.created = "2026-08-01T12:00:00.000Z";
  record.output_dims = "128x256";
  for (const char* schema : {kSchema1, kSchema2, kSchema3, kSchema5}) execute_sql(path, schema);
  execute_sql(path, old_insert(record, 5));
  const auto check_rows = [&](const Database& database) {
    const auto found = database.find_kernel("k1", "cpu x 2", 1, "2.21.0");
    REQUIRE(found.size() == 1);
    CHECK(found[0].core_ns == 0);
    CHECK(found[0].output_dims == "128x256");
    CHECK(database.check().empty());
  };
  {
    const Database old = Database::open(path, {.read_only = true});
    CHECK(old.info().schema_version == 5);
    check_rows(old);
  }
  Database database = Database::open(path);
  CHECK(database.info().schema_version == 6);
  check_rows(database);
  CHECK_FALSE(database.add(record));  // the same content
  record.core_ns = 23000.5;
  record.stolen_ms = 10;
  CHECK(database.add(record));
  const auto found = database.find_kernel("k1", "cpu x 2", 1, "2.21.0");
  REQUIRE(found.size() == 2);
  CHECK(found[1].core_ns == 23000.5);
  CHECK(found[1].stolen_ms == 10);
  CHECK(database.check().empty());
}

}  // namespace hone
