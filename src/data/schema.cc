#include "data/schema.h"

#include <fmt/core.h>

#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "graph/decision.h"

namespace hone {

namespace {

// The note by which version 2 marked the best of a finished search.
constexpr const char* kFinishedNote = "best of a finished search";

std::string column_definition(const char* name, const std::string&) { return fmt::format("{} TEXT NOT NULL", name); }
std::string column_definition(const char* name, double) { return fmt::format("{} REAL NOT NULL", name); }
template <class Integer>
std::string column_definition(const char* name, Integer) {
  return fmt::format("{} INTEGER NOT NULL", name);
}

struct Columns {
  std::string names, definitions, marks;  // comma-separated
  void add(const char* name, const std::string& definition) {
    const char* comma = names.empty() ? "" : ", ";
    names += comma + std::string(name);
    definitions += comma + definition;
    marks += comma + std::string("?");
  }
};

// Columns of records that came with version 3.
bool is_new(const std::string& name) { return name == "stage" || name == "finished"; }

Columns record_columns(int64_t version = kSchemaVersion) {
  Columns columns;
  const Record record;
  for_each_record_field(record, [&](const char* name, const auto& field) {
    if (version >= 3 || !is_new(name)) columns.add(name, column_definition(name, field));
  });
  return columns;
}

Columns tuned_columns() {
  Columns columns;
  const Tuned tuned;
  for_each_tuned_field(tuned,
                       [&](const char* name, const auto& field) { columns.add(name, column_definition(name, field)); });
  return columns;
}

void create_record_tables(Sql& sql) {
  sql.claim();
  sql.execute("CREATE TABLE records (id INTEGER PRIMARY KEY, " + record_columns().definitions +
              ", content_key TEXT NOT NULL UNIQUE)");
  sql.execute("CREATE INDEX records_kernel ON records (kernel, host, threads, xla_version)");
  sql.execute("CREATE INDEX records_program ON records (program, scope, host, threads, xla_version)");
  sql.execute("CREATE TABLE tuned (" + tuned_columns().definitions + ", PRIMARY KEY (" + kTunedKey + "))");
}

// Decisions in today's terms (graph/decision.h), and the columns of version 3.
void add_stage_and_finished(Sql& sql) {
  sql.execute("ALTER TABLE records ADD COLUMN stage TEXT NOT NULL DEFAULT ''");
  sql.execute("ALTER TABLE records ADD COLUMN finished INTEGER NOT NULL DEFAULT 0");
  sql.execute(fmt::format("UPDATE records SET finished = 1 WHERE note = '{}'", kFinishedNote));
  std::vector<Record> changed;  // rows that now say something else than when they were stored
  {
    Statement rows(sql, select_records(kSchemaVersion, "WHERE finished <> 0 OR scope = 'program'"));
    while (rows.step()) changed.push_back(read_record(rows));
  }
  Statement update(sql, "UPDATE records SET decisions = ?, content_key = ? WHERE id = ?");
  for (const Record& record : changed) {
    update.reset();
    update.bind(0, record.decisions);
    update.bind(1, content_key(record));
    update.bind(2, record.id);
    update.step();
  }
}

}  // namespace

int64_t schema_of(Sql& sql) {
  const SqlOwner owner = sql.owner();
  if (owner.empty) return 0;
  if (!owner.ours)
    throw Error("the database belongs to another program", sql.path(), "give the path of a database made by hone");
  if (owner.version > kSchemaVersion)
    throw Error(fmt::format("the database has schema version {}, this program knows {}", owner.version, kSchemaVersion),
                sql.path(), "use the newer version of hone that wrote it, or another file");
  return owner.version;
}

void migrate(Sql& sql, int64_t version) {
  if (version < 1) create_record_tables(sql);
  if (version < 2) create_kernel_tables(sql);
  if (version >= 1 && version < 3) add_stage_and_finished(sql);
  sql.set_version(kSchemaVersion);
}

std::string content_key(const Record& record) {
  std::string text;
  for_each_record_field(record, [&](const char* name, const auto& field) {
    if (is_new(name) && field == std::decay_t<decltype(field)>{}) return;
    text += fmt::format("{}", field) + '\0';
  });
  return hash_hex(text);
}

std::string select_records(int64_t version, const std::string& rest) {
  const std::string fields = "id, " + record_columns().names + ", content_key";
  if (version >= 3) return "SELECT " + fields + " FROM records " + rest;
  return fmt::format(
      "SELECT {} FROM (SELECT id, {}, content_key, '' AS stage, CASE WHEN note = '{}' THEN 1 ELSE 0 END AS finished "
      "FROM records) AS older {}",
      fields, record_columns(version).names, kFinishedNote, rest);
}

Record read_record_as_stored(const Statement& row) {
  Record record;
  row.column(0, record.id);
  int column = 1;
  for_each_record_field(record, [&](const char*, auto& field) { row.column(column++, field); });
  return record;
}

Record read_record(const Statement& row) {
  Record record = read_record_as_stored(row);
  if (record.scope == "program") record.decisions = present_text(record.decisions);
  return record;
}

std::string read_content_key(const Statement& row) {
  int column = 1;
  const Record record;
  for_each_record_field(record, [&](const char*, const auto&) { ++column; });
  std::string key;
  row.column(column, key);
  return key;
}

std::string insert_record_sql() {
  const Columns columns = record_columns();
  return "INSERT INTO records (" + columns.names + ", content_key) VALUES (" + columns.marks +
         ", ?) ON CONFLICT DO NOTHING";
}

bool insert_record(Sql& sql, Statement& insert, const Record& record) {
  insert.reset();
  int index = 0;
  for_each_record_field(record, [&](const char*, const auto& field) { insert.bind(index++, field); });
  insert.bind(index, content_key(record));
  insert.step();
  insert.reset();  // ends the implicit transaction
  return sql.changes() > 0;
}

std::string select_tuned(const std::string& rest) { return "SELECT " + tuned_columns().names + " FROM tuned " + rest; }

Tuned read_tuned(const Statement& row) {
  Tuned tuned;
  int column = 0;
  for_each_tuned_field(tuned, [&](const char*, auto& field) { row.column(column++, field); });
  return tuned;
}

std::string save_tuned_sql(bool always) {
  const Columns columns = tuned_columns();
  std::string updates;
  const Tuned tuned;
  for_each_tuned_field(tuned, [&](const char* name, const auto&) {
    updates += fmt::format("{}{} = excluded.{}", updates.empty() ? "" : ", ", name, name);
  });
  return "INSERT INTO tuned (" + columns.names + ") VALUES (" + columns.marks + ") ON CONFLICT (" + kTunedKey +
         ") DO UPDATE SET " + updates + (always ? "" : " WHERE excluded.created > tuned.created");
}

bool insert_tuned(Sql& sql, Statement& insert, const Tuned& tuned) {
  insert.reset();
  int index = 0;
  for_each_tuned_field(tuned, [&](const char*, const auto& field) { insert.bind(index++, field); });
  insert.step();
  insert.reset();
  return sql.changes() > 0;
}

}  // namespace hone
