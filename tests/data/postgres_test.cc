#include "data/postgres.h"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "data/database.h"
#include "tests/data/postgres_server.h"
#include "tests/data/records.h"
#include "tests/skip.h"

namespace hone {
namespace {

constexpr char kHost[] = "cpu x 2", kVersion[] = "2.21.0";

// The server, or null, after which the test returns: it is skipped.
PostgresServer* server() {
  PostgresServer* found = PostgresServer::shared();
  if (found == nullptr) skip_case("Debian's postgresql is not installed, or does not start here");
  return found;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error.what()) + " | " + error.where() + " | " + error.hint();
  }
  return "no error";
}

}  // namespace

TEST_CASE("any bytes can be stored as PostgreSQL text", "[data]") {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  for (const std::string& bytes :
       {std::string("plain"), std::string("Größe 日本 \U0001F600"), every, std::string("\xff\xfe\0x", 4),
        std::string("\xe6\x97"), std::string("\xf4\x8f\xbc\x80"), std::string("\xed\xa0\x80"), std::string()}) {
    const std::string text = encode_text(bytes);
    CHECK(decode_text(text) == bytes);
    CHECK(encode_text(decode_text(text)) == text);
    CHECK(text.find('\0') == std::string::npos);
  }
  CHECK(encode_text("Größe 日本") == "Größe 日本");
  CHECK(encode_text("\xff") == "\xf4\x8f\xbf\xbf");
}

TEST_CASE("URLs in messages have no password", "[data]") {
  CHECK(is_postgres_url("postgresql://h/d"));
  CHECK(is_postgres_url("postgres://h/d"));
  CHECK_FALSE(is_postgres_url("/tmp/postgresql.db"));
  CHECK(without_password("postgresql://u:se:cr@t@h:5432/d?x=1") == "postgresql://u@h:5432/d?x=1");
  CHECK(without_password("postgresql://h/d?user=u&password=secret&x=1") == "postgresql://h/d?user=u&password=***&x=1");
  CHECK(without_password("postgresql://u@h:5432/d?password=a&password=b") ==
        "postgresql://u@h:5432/d?password=***&password=***");
  CHECK(password_places("records.db?password=x").empty());
  CHECK(without_password("postgresql://u@h/d") == "postgresql://u@h/d");
}

TEST_CASE("a missing server gives one clear error line", "[data]") {
  const std::string said = error_of([] { Database::open("postgresql://u:secret@/d?host=/nonexistent"); });
  CHECK_THAT(said, Catch::Contains("cannot open the database") && Catch::Contains("is the server running"));
  CHECK_THAT(said, !Catch::Contains("secret") && !Catch::Contains("\n"));
  CHECK_THROWS_AS(Database::open("postgresql://h:no-port/d"), Error);
}

TEST_CASE("records come back from PostgreSQL as they were stored", "[data]") {
  if (server() == nullptr) return;
  const std::string url = server()->create_database();
  Record stored = kernel_record();
  stored.note = std::string("broken \xff bytes\nand 日本 \0", 27);
  stored.max_error = std::numeric_limits<double>::infinity();
  stored.compile_ms = 0.1;
  {
    Database database = Database::open(url);
    CHECK(database.add(stored));
    CHECK(database.add(kernel_record("k2")));
    CHECK(database.add(program_record(1.1)));
    CHECK(database.add(program_record(1.3)));
  }
  const Database database = Database::open(url, {.read_only = true});
  const std::vector<Record> found = database.find_kernel("k1", kHost, 1, kVersion);
  REQUIRE(found.size() == 1);
  stored.id = found[0].id;
  stored.created = found[0].created;
  CHECK(found[0] == stored);
  CHECK(database.find_kernel("k1", kHost, 2, kVersion).empty());
  CHECK(database.find_program("p1", kHost, 1, kVersion).size() == 2);
  CHECK(database.best_program("p1", kHost, 1, kVersion)->ratio == 1.3);
  CHECK(database.check().empty());
}

TEST_CASE("PostgreSQL: trying to write changes nothing", "[data]") {
  if (server() == nullptr) return;
  const std::string url = server()->create_database();
  Database::try_writing(url);
  CHECK_THROWS_WITH(Database::open(url, {.read_only = true}), Catch::Contains("empty"));
  Database::open(url).add(kernel_record());
  Database::try_writing(url);
  CHECK(Database::open(url, {.read_only = true}).info().records == 1);
  CHECK_THROWS_AS(Database::try_writing("postgresql://u@/d?host=/nonexistent"), Error);
}

TEST_CASE("PostgreSQL: results replace, equal rows are stored once, info counts", "[data]") {
  if (server() == nullptr) return;
  const std::string url = server()->create_database();
  Database database = Database::open(url);
  Record record = kernel_record();
  record.created = "2026-08-01T12:00:00.123Z";
  CHECK(database.add(record));
  CHECK_FALSE(database.add(record));
  Tuned tuned = tuned_result();
  CHECK_FALSE(database.find_tuned(tuned));
  database.save_tuned(tuned);
  tuned.seconds = 7;
  database.save_tuned(tuned);
  const std::optional<Tuned> found = database.find_tuned(tuned);
  REQUIRE(found);
  tuned.created = found->created;
  CHECK(*found == tuned);
  database.add(failed_record("crashed"));
  const DatabaseInfo info = database.info();
  CHECK(info.path == url);
  CHECK(info.schema_version == 6);
  CHECK(info.records == 2);
  CHECK(info.kernel_records == 2);
  CHECK(info.verified == 1);
  CHECK(info.kernels == 1);
  CHECK(info.tuned == 1);
  CHECK(info.by_status == std::map<std::string, int64_t>{{"ok", 1}, {"crashed", 1}});
  CHECK(info.by_host == std::map<std::string, int64_t>{{kHost, 2}});
  CHECK(info.file_bytes > 0);
  CHECK(info.oldest == "2026-08-01T12:00:00.123Z");
  std::ostringstream out;
  database.export_jsonl(out);
  CHECK(nlohmann::json::parse(out.str().substr(0, out.str().find('\n')))["seed"] == 0xffffffffffffffffull);
}

TEST_CASE("PostgreSQL: an older schema is read unchanged and migrated for writing", "[data]") {
  if (server() == nullptr) return;
  const std::string url = server()->create_database();
  Record best = kernel_record("k1");
  best.created = "2026-08-01T12:00:00.000Z";
  best.note = "best of a finished search";
  {
    Database database = Database::open(url);
    database.add(best);
    Record won = kernel_record("k2");
    won.note = "won on 128x256";
    database.add(won);
  }
  REQUIRE(server()->execute(
      url,
      "ALTER TABLE hone.records DROP COLUMN stage, DROP COLUMN finished, DROP COLUMN baseline, "
      "DROP COLUMN output_dims, DROP COLUMN core_ns, DROP COLUMN stolen_ms; DROP TABLE hone.machines; "
      "UPDATE hone.about SET version = 2"));
  const TempDir folder;
  {
    const Database old = Database::open(url, {.read_only = true});
    CHECK(old.info().schema_version == 2);
    CHECK(old.find_kernel("k1", kHost, 1, kVersion).at(0).finished);
    CHECK_FALSE(old.find_kernel("k2", kHost, 1, kVersion).at(0).finished);
    CHECK(old.find_kernel("k2", kHost, 1, kVersion).at(0).output_dims == "128x256");
    CHECK(old.check().empty());
    CHECK(Database::open(folder.path() / "r.db").merge(url).records_added == 2);
  }
  Database database = Database::open(url);
  CHECK(database.info().schema_version == 6);
  database.save_machine("h", "{}");
  database.save_machine("h", "{\"isa\": \"avx2\"}");
  CHECK(database.find_machine("h") == "{\"isa\": \"avx2\"}");
  CHECK(database.find_kernel("k1", kHost, 1, kVersion).at(0).finished);
  CHECK_FALSE(database.find_kernel("k2", kHost, 1, kVersion).at(0).finished);
  CHECK(database.find_kernel("k2", kHost, 1, kVersion).at(0).output_dims == "128x256");
  CHECK(database.check().empty());
  Record failed = failed_record("compile_failed");
  failed.stage = "passes";
  CHECK(database.add(failed));
  CHECK(database.find_kernel("k1", kHost, 1, kVersion).at(1).stage == "passes");
  CHECK(Database::open(folder.path() / "r.db").merge(url).records_added == 1);
}

TEST_CASE("PostgreSQL keeps kernels in the order of insertion", "[data]") {
  if (server() == nullptr) return;
  const std::string url = server()->create_database();
  Database database = Database::open(url);
  StoredKernel kernel;
  kernel.program = "p";
  kernel.options = {"loop", "tile=8,8"};
  kernel.default_option = 1;
  kernel.flops = 1e300;
  kernel.hlo = "HloModule m";
  kernel.module_proto = std::string("\0\1\xff bytes", 9);
  for (const char* name : {"zz", "aa", "mm"}) {
    kernel.fingerprint = name;
    CHECK(database.add_kernel(kernel));
    CHECK_FALSE(database.add_kernel(kernel));
  }
  const auto all = database.stored_kernels(1);
  REQUIRE(all.size() == 3);
  CHECK(all[0].fingerprint == "zz");
  CHECK(all[2].fingerprint == "mm");
  CHECK(database.stored_kernels(1, "p", 2).size() == 2);
  CHECK(database.stored_kernels(1, "q").empty());
  const auto found = database.find_stored_kernel("mm", 1);
  REQUIRE(found);
  CHECK(found->module_proto == kernel.module_proto);
  CHECK(found->options == kernel.options);
  CHECK(found->flops == 1e300);
  database.save_program({"p", "family", "f1", "c", 3});
  database.save_program({"p", "family", "f2", "c", 4});
  REQUIRE(database.find_stored_program("p"));
  CHECK(database.find_stored_program("p")->fingerprint == "f2");
  CHECK(database.find_stored_program("p")->configurations == 4);
  database.add(kernel_record());
  REQUIRE(database.measured_under().size() == 1);
  CHECK(database.measured_under()[0].records == 1);

  const TempDir folder;  // all of it is merged into a file
  Database file = Database::open(folder.path() / "r.db");
  CHECK(file.merge(url).kernels_added == 3);
  CHECK(file.stored_kernels(1)[1].fingerprint == "aa");
  CHECK(file.find_stored_kernel("mm", 1)->module_proto == kernel.module_proto);
}

TEST_CASE("files and servers merge both ways", "[data]") {
  if (server() == nullptr) return;
  const std::string url = server()->create_database();
  const TempDir folder;
  const std::string path = folder.path() / "r.db";
  Database file = Database::open(path), remote = Database::open(url);
  Record shared = kernel_record("shared");
  shared.created = "2026-08-01T12:00:00.000Z";
  Tuned older = tuned_result(), newer = tuned_result();
  older.created = "2026-08-01T12:00:00.000Z";
  newer.created = "2026-08-02T12:00:00.000Z";
  newer.seconds = 7;
  file.add(shared);
  file.add(kernel_record("k1"));
  file.save_tuned(older);
  remote.add(shared);
  remote.add(kernel_record("k2"));
  remote.save_tuned(newer);
  MergeReport report = remote.merge(path);
  CHECK(report.records_added == 1);
  CHECK(report.records_known == 1);
  CHECK(report.tuned_added == 0);
  CHECK(report.tuned_known == 1);
  report = file.merge(url);
  CHECK(report.records_added == 1);
  CHECK(report.records_known == 2);
  CHECK(report.tuned_added == 1);
  CHECK(file.find_tuned(older)->seconds == 7);
  CHECK(file.check().empty());
  CHECK(remote.check().empty());
}

TEST_CASE("merging copies only the requested rows", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "all.db";
  {
    Database all = Database::open(path);
    for (const char* kernel : {"k1", "k2", "k3"}) {
      Record record = kernel_record(kernel);
      record.program = std::string("program of ") + kernel;
      all.add(record);
    }
    Record program = program_record();
    program.program = "program of k3";
    all.add(program);
    all.save_tuned(tuned_result());
  }
  Database some = Database::open(folder.path() / "some.db");
  const MergeReport report = some.merge(path, {"k1", "program of k3"});
  CHECK(report.records_added == 3);
  CHECK(report.tuned_added == 0);
  CHECK(some.find_kernel("k2", kHost, 1, kVersion).empty());
  CHECK(some.find_kernel("k3", kHost, 1, kVersion).size() == 1);
  CHECK(some.merge(path, {"p1"}).tuned_added == 1);
}

TEST_CASE("several processes create and write one server's database", "[data]") {
  if (server() == nullptr) return;
  constexpr int kProcesses = 3, kRows = 40;
  const std::string url = server()->create_database();
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(in_child([&] {
      Database database = Database::open(url);
      for (int row = 0; row < kRows; ++row)
        database.add(kernel_record("k" + std::to_string(process), std::to_string(row)));
      database.save_tuned(tuned_result());
    }));
  }
  for (pid_t child : children) CHECK(exit_code(child) == 0);
  const Database database = Database::open(url);
  CHECK(database.info().records == kProcesses * kRows);
  CHECK(database.info().tuned == 1);
  CHECK(database.check().empty());
}

TEST_CASE("no row is lost when a server ends", "[data]") {
  if (server() == nullptr) return;
  const std::string url = server()->create_database();
  Database database = Database::open(url, {.busy_timeout_ms = 100});
  database.add(kernel_record("before"));
  server()->stop(SIGQUIT);
  const std::string said = error_of([&] { database.add(kernel_record("lost")); });
  CHECK_THAT(said, Catch::Contains("server is gone") && Catch::Contains("run the same command again"));
  CHECK_THAT(said, !Catch::Contains("\n"));
  REQUIRE(server()->start());
  CHECK(database.add(kernel_record("after")));  // the same object continues
  CHECK(database.info().records == 2);
  server()->stop(SIGINT);  // restarted between two rows, without an error
  REQUIRE(server()->start());
  CHECK(database.add(kernel_record("later")));
  CHECK(Database::open(url).info().records == 3);
  CHECK(database.check().empty());
}

TEST_CASE("PostgreSQL: databases of other programs, of newer schemas and changed ones", "[data]") {
  if (server() == nullptr) return;
  const std::string url = server()->create_database();
  CHECK_THAT(error_of([&] { Database::open(url, {.read_only = true}); }), Catch::Contains("is empty"));
  REQUIRE(server()->execute(url, "CREATE SCHEMA hone; CREATE TABLE hone.records (x int)"));
  CHECK_THAT(error_of([&] { Database::open(url); }), Catch::Contains("another program"));
  REQUIRE(server()->execute(
      url, "DROP SCHEMA hone CASCADE; CREATE TABLE records (x int)"));  // a table of another schema is ignored
  {
    Database database = Database::open(url);
    database.add(kernel_record());
    CHECK(database.check().empty());
    Database reader = Database::open(url, {.read_only = true});
    CHECK_THAT(error_of([&] { reader.add(kernel_record("k2")); }), Catch::Contains("read-only"));
    CHECK(reader.info().records == 1);
  }
  REQUIRE(server()->execute(url, "UPDATE hone.records SET note = 'forged'"));
  REQUIRE(Database::open(url).check().size() == 1);
  CHECK_THAT(Database::open(url).check()[0], Catch::Contains("not what was stored"));
  REQUIRE(server()->execute(url, "UPDATE hone.about SET version = 99"));
  CHECK_THAT(error_of([&] { Database::open(url); }), Catch::Contains("schema version 99"));
}

TEST_CASE("PostgreSQL: waiting for a writer that holds the lock has a limit", "[data]") {
  if (server() == nullptr) return;
  const std::string url = server()->create_database();
  const TempDir folder;
  const std::string path = folder.path() / "r.db";
  Database::open(path).add(kernel_record());
  Database::open(url);
  const std::unique_ptr<Sql> holder = open_postgres(url, /*read_only=*/false, 1000);
  Transaction transaction(*holder);
  Database waiting = Database::open(url, {.busy_timeout_ms = 50});
  CHECK_THAT(error_of([&] { waiting.merge(path); }), Catch::Contains("stayed locked"));
  transaction.commit();
  CHECK(waiting.merge(path).records_added == 1);
}

}  // namespace hone
