#include "data/schema.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "graph/decision.h"

namespace hone {

namespace {

// Notes of older versions that are columns now. Up to 2: the best of a finished search. Up to 3: the baseline of a
// candidate, "against ...; other text", and the output dimensions of a kernel in rows for its structure.
constexpr std::string_view kFinishedNote = "best of a finished search";
constexpr std::string_view kBaselineNote = "against ";
constexpr std::string_view kDimsNote = "won on ";

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

// The version that added a column of records.
int64_t since(std::string_view name) {
  if (name == "stage" || name == "finished") return 3;
  if (name == "baseline" || name == "output_dims") return 4;
  if (name == "core_ns" || name == "stolen_ms") return 6;
  return 1;
}

Columns record_columns(int64_t version = kSchemaVersion) {
  Columns columns;
  const Record record;
  for_each_record_field(record, [&](const char* name, const auto& field) {
    if (since(name) <= version) columns.add(name, column_definition(name, field));
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

// The value of a column in rows that were written before it existed, as SQL.
template <class Field>
const char* absent_value(const Field&) {
  return std::is_same_v<Field, std::string> ? "''" : "0";
}

// Values of the columns that `version` does not have, as SQL: "'' AS stage, 0 AS finished".
std::string absent_columns(int64_t version) {
  std::string text;
  const Record record;
  for_each_record_field(record, [&](const char* name, const auto& field) {
    if (since(name) <= version) return;
    text += fmt::format(", {} AS {}", absent_value(field), name);
  });
  return text;
}

// Moves what older versions wrote in the note to its column.
void read_note(Record& record, int64_t version) {
  if (version < 3) record.finished = record.note == kFinishedNote;
  if (version >= 4) return;
  if (record.scope == "program" && record.note.starts_with(kBaselineNote)) {
    const size_t end = std::min(record.note.find("; "), record.note.size());
    record.baseline = present_text(record.note.substr(kBaselineNote.size(), end - kBaselineNote.size()));
    record.note.erase(0, end + (end < record.note.size() ? 2 : 0));
  } else if (record.scope == "kernel" && record.note.starts_with(kDimsNote)) {
    record.output_dims = record.note.substr(kDimsNote.size());
    record.note.clear();
  }
}

// Adds the columns newer than `version`, and converts all rows to the present form.
void add_columns(Sql& sql, int64_t version) {
  const Record record;
  for_each_record_field(record, [&](const char* name, const auto& field) {
    if (since(name) <= version) return;
    sql.execute(fmt::format("ALTER TABLE records ADD COLUMN {} DEFAULT {}", column_definition(name, field),
                            absent_value(field)));
  });
  std::vector<Record> changed;  // rows that the conversion changes
  {
    Statement rows(sql, select_records(kSchemaVersion, "ORDER BY id"));
    while (rows.step())
      if (Record row = read_record(rows, version); row != read_record_as_stored(rows))
        changed.push_back(std::move(row));
  }
  Statement update(sql,
                   "UPDATE records SET decisions = ?, note = ?, finished = ?, baseline = ?, output_dims = ?, "
                   "content_key = ? WHERE id = ?");
  for (const Record& row : changed) {
    update.reset();
    update.bind(0, row.decisions);
    update.bind(1, row.note);
    update.bind(2, row.finished);
    update.bind(3, row.baseline);
    update.bind(4, row.output_dims);
    update.bind(5, content_key(row));
    update.bind(6, row.id);
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
    throw Error(fmt::format("the database has schema version {}, this program has {}", owner.version, kSchemaVersion),
                sql.path(), "use the newer version of hone that wrote it, or another file");
  return owner.version;
}

void migrate(Sql& sql, int64_t version) {
  if (version < 1) create_record_tables(sql);
  if (version < 2) create_kernel_tables(sql);
  if (version < 5) create_machine_table(sql);
  if (version >= 1) add_columns(sql, version);
  sql.set_version(kSchemaVersion);
}

std::string content_key(const Record& record) {
  std::string text;
  for_each_record_field(record, [&](const char* name, const auto& field) {
    if (since(name) > 2 && field == std::decay_t<decltype(field)>{}) return;
    text += fmt::format("{}", field) + '\0';
  });
  return hash_hex(text);
}

std::string select_records(int64_t version, const std::string& rest) {
  const std::string fields = "SELECT id, " + record_columns().names + ", content_key FROM ";
  if (version >= kSchemaVersion) return fields + "records " + rest;
  return fmt::format("{}(SELECT id, {}, content_key{} FROM records) AS older {}", fields, record_columns(version).names,
                     absent_columns(version), rest);
}

Record read_record_as_stored(const Statement& row) {
  Record record;
  row.column(0, record.id);
  int column = 1;
  for_each_record_field(record, [&](const char*, auto& field) { row.column(column++, field); });
  return record;
}

Record read_record(const Statement& row, int64_t version) {
  Record record = read_record_as_stored(row);
  if (record.scope == "program") record.decisions = present_text(record.decisions);
  read_note(record, version);
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
