#include "data/database.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "data/postgres.h"
#include "data/sqlite.h"

namespace hone {

void create_kernel_tables(Sql& sql);  // database_kernels.cc

namespace {

constexpr int kSchemaVersion = 2;  // 1: records and tuned; 2: kernels and programs as well
constexpr size_t kMostProblems = 100;
constexpr const char* kTunedKey = "program, host, threads, weights, xla_version, options";

std::string utc_now() {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto ms = now.time_since_epoch().count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), ms);
}

std::string column_definition(const char* name, const std::string&) { return fmt::format("{} TEXT NOT NULL", name); }
std::string column_definition(const char* name, double) { return fmt::format("{} REAL NOT NULL", name); }
template <class Integer>
std::string column_definition(const char* name, Integer) {
  return fmt::format("{} INTEGER NOT NULL", name);
}

struct Columns {
  std::string names, definitions, marks;  // comma-separated
  int count = 0;
  void add(const char* name, const std::string& definition) {
    const char* comma = count++ == 0 ? "" : ", ";
    names += comma + std::string(name);
    definitions += comma + definition;
    marks += comma + std::string("?");
  }
};

Columns record_columns() {
  Columns columns;
  const Record record;
  for_each_record_field(
      record, [&](const char* name, const auto& field) { columns.add(name, column_definition(name, field)); });
  return columns;
}

Columns tuned_columns() {
  Columns columns;
  const Tuned tuned;
  for_each_tuned_field(tuned,
                       [&](const char* name, const auto& field) { columns.add(name, column_definition(name, field)); });
  return columns;
}

// A hash over all fields but the id: equal for rows that say the same.
std::string content_key(const Record& record) {
  std::string text;
  for_each_record_field(record, [&](const char*, const auto& field) { text += fmt::format("{}", field) + '\0'; });
  return hash_hex(text);
}

Record read_record(const Statement& row) {  // columns: id, then record_columns()
  Record record;
  row.column(0, record.id);
  int column = 1;
  for_each_record_field(record, [&](const char*, auto& field) { row.column(column++, field); });
  return record;
}

Tuned read_tuned(const Statement& row) {
  Tuned tuned;
  int column = 0;
  for_each_tuned_field(tuned, [&](const char*, auto& field) { row.column(column++, field); });
  return tuned;
}

std::string select_records(const std::string& rest) {
  return "SELECT id, " + record_columns().names + " FROM records " + rest;
}
std::string select_tuned(const std::string& rest) { return "SELECT " + tuned_columns().names + " FROM tuned " + rest; }

// Rows of one kernel or program under equal conditions; `column` is where the fingerprint stands.
std::vector<Record> find(Sql& sql, const std::string& scope, const std::string& fingerprint, const std::string& host,
                         int threads, const std::string& xla_version, const char* rest) {
  Statement query(sql, select_records("WHERE scope = ? AND " + scope +
                                      " = ? AND host = ? AND threads = ? AND xla_version = ? " + rest));
  query.bind(0, scope);
  query.bind(1, fingerprint);
  query.bind(2, host);
  query.bind(3, threads);
  query.bind(4, xla_version);
  std::vector<Record> records;
  while (query.step()) records.push_back(read_record(query));
  return records;
}

constexpr const char* kOldestFirst = "ORDER BY id";
constexpr const char* kBestOnly = "AND status = 'ok' ORDER BY ratio_low DESC, id LIMIT 1";

std::optional<Record> first(std::vector<Record> records) {
  if (records.empty()) return std::nullopt;
  return std::move(records.front());
}

void create_schema(Sql& sql) {
  sql.claim();
  sql.execute("CREATE TABLE records (id INTEGER PRIMARY KEY, " + record_columns().definitions +
              ", content_key TEXT NOT NULL UNIQUE)");
  sql.execute("CREATE INDEX records_kernel ON records (kernel, host, threads, xla_version)");
  sql.execute("CREATE INDEX records_program ON records (program, scope, host, threads, xla_version)");
  sql.execute("CREATE TABLE tuned (" + tuned_columns().definitions + ", PRIMARY KEY (" + kTunedKey + "))");
}

// Brings a file of any older schema (0: just created) to ours; inside a transaction.
void migrate(Sql& sql, int64_t version) {
  if (version < 1) create_schema(sql);
  if (version < 2) create_kernel_tables(sql);
  sql.set_version(kSchemaVersion);
}

// The schema's version, 0 where there is none yet; throws Error for what is not ours or newer.
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

std::string insert_record_sql() {
  const Columns columns = record_columns();
  return "INSERT INTO records (" + columns.names + ", content_key) VALUES (" + columns.marks +
         ", ?) ON CONFLICT DO NOTHING";
}

// Newer results replace older ones; `always` replaces whatever is there.
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

// Throws InternalError: what our own code stores must make sense.
void require_sound(const std::vector<std::string>& found) {
  if (!found.empty()) throw InternalError("a row for the database makes no sense: " + found.front());
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

bool insert_tuned(Sql& sql, Statement& insert, const Tuned& tuned) {
  insert.reset();
  int index = 0;
  for_each_tuned_field(tuned, [&](const char*, const auto& field) { insert.bind(index++, field); });
  insert.step();
  insert.reset();
  return sql.changes() > 0;
}

}  // namespace

Database::Database(std::unique_ptr<Sql> sql) : sql_(std::move(sql)) {}
Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&& other) noexcept {
  insert_.swap(other.insert_);  // swapped, so that statements go before the connection they belong to
  sql_.swap(other.sql_);
  return *this;
}

Database Database::open(const std::string& path, const DatabaseOptions& options) {
  const auto open_engine = is_postgres_url(path) ? open_postgres : open_sqlite;
  std::unique_ptr<Sql> sql = open_engine(path, options.read_only, options.busy_timeout_ms);
  const int64_t version = schema_of(*sql);
  if (options.read_only) {
    if (version == 0) throw Error("the database is empty", sql->path());
    return Database(std::move(sql));
  }
  sql->prepare_writing();
  if (version < kSchemaVersion) {
    Transaction transaction(*sql);
    migrate(*sql, schema_of(*sql));  // asked again: another process may have been faster
    transaction.commit();
  }
  return Database(std::move(sql));
}

bool Database::add(const Record& given) {
  Record record = given;
  if (record.created.empty()) record.created = utc_now();
  if (std::isnan(record.max_error)) record.max_error = std::numeric_limits<double>::infinity();
  require_sound(problems(record));
  if (insert_ == nullptr) insert_ = std::make_unique<Statement>(*sql_, insert_record_sql());
  return insert_record(*sql_, *insert_, record);
}

std::vector<Record> Database::find_kernel(const std::string& kernel, const std::string& host, int threads,
                                          const std::string& xla_version) const {
  return find(*sql_, "kernel", kernel, host, threads, xla_version, kOldestFirst);
}

std::vector<Record> Database::find_program(const std::string& program, const std::string& host, int threads,
                                           const std::string& xla_version) const {
  return find(*sql_, "program", program, host, threads, xla_version, kOldestFirst);
}

std::optional<Record> Database::best_kernel(const std::string& kernel, const std::string& host, int threads,
                                            const std::string& xla_version) const {
  return first(find(*sql_, "kernel", kernel, host, threads, xla_version, kBestOnly));
}

std::optional<Record> Database::best_program(const std::string& program, const std::string& host, int threads,
                                             const std::string& xla_version) const {
  return first(find(*sql_, "program", program, host, threads, xla_version, kBestOnly));
}

void Database::save_tuned(const Tuned& given) {
  Tuned tuned = given;
  if (tuned.created.empty()) tuned.created = utc_now();
  require_sound(problems(tuned));
  Statement insert(*sql_, save_tuned_sql(/*always=*/true));
  insert_tuned(*sql_, insert, tuned);
}

std::optional<Tuned> Database::find_tuned(const Tuned& key) const {
  Statement query(*sql_, select_tuned("WHERE program = ? AND host = ? AND threads = ? AND weights = ? AND "
                                      "xla_version = ? AND options = ?"));
  query.bind(0, key.program);
  query.bind(1, key.host);
  query.bind(2, key.threads);
  query.bind(3, key.weights);
  query.bind(4, key.xla_version);
  query.bind(5, key.options);
  if (!query.step()) return std::nullopt;
  return read_tuned(query);
}

DatabaseInfo Database::info() const {
  DatabaseInfo info;
  info.path = sql_->path();
  info.schema_version = static_cast<int>(sql_->owner().version);
  info.file_bytes = sql_->bytes();
  info.records = sql_->integer("SELECT count(*) FROM records");
  info.kernel_records = sql_->integer("SELECT count(*) FROM records WHERE scope = 'kernel'");
  info.program_records = sql_->integer("SELECT count(*) FROM records WHERE scope = 'program'");
  info.verified = sql_->integer("SELECT count(*) FROM records WHERE verified <> 0");
  info.programs = sql_->integer("SELECT count(DISTINCT program) FROM records WHERE program <> ''");
  info.kernels = sql_->integer("SELECT count(DISTINCT kernel) FROM records WHERE kernel <> ''");
  info.tuned = sql_->integer("SELECT count(*) FROM tuned");
  info.oldest = sql_->text("SELECT min(created) FROM records");
  info.newest = sql_->text("SELECT max(created) FROM records");
  for (auto [column, counts] : {std::pair{"status", &info.by_status}, std::pair{"host", &info.by_host}}) {
    Statement query(*sql_, fmt::format("SELECT {0}, count(*) FROM records GROUP BY {0}", column));
    while (query.step()) {
      std::string name;
      query.column(0, name);
      query.column(1, (*counts)[name]);
    }
  }
  return info;
}

void Database::export_jsonl(std::ostream& out) const {
  const auto print = [&](const nlohmann::ordered_json& line) {
    out << line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  };
  Statement records(*sql_, select_records("ORDER BY id"));
  while (records.step()) {
    const Record record = read_record(records);
    nlohmann::ordered_json line = {{"table", "records"}, {"id", record.id}};
    for_each_record_field(record, [&](const char* name, const auto& field) { line[name] = field; });
    print(line);
  }
  Statement results(*sql_, select_tuned(std::string("ORDER BY ") + kTunedKey));
  while (results.step()) {
    const Tuned tuned = read_tuned(results);
    nlohmann::ordered_json line = {{"table", "tuned"}};
    for_each_tuned_field(tuned, [&](const char* name, const auto& field) { line[name] = field; });
    line["decisions"] = nlohmann::ordered_json::parse(tuned.decisions, nullptr, /*allow_exceptions=*/false);
    print(line);
  }
  if (!out.flush()) throw RunError("cannot write the export", sql_->path());
}

MergeReport Database::merge(const std::string& path, const std::set<std::string>& only) {
  const Database other = open(path, {.read_only = true});
  const auto wanted = [&](const std::string& program, const std::string& kernel) {
    return only.empty() || only.contains(program) || only.contains(kernel);
  };
  MergeReport report;
  Transaction transaction(*sql_);
  Statement insert(*sql_, insert_record_sql());
  Statement records(*other.sql_, select_records("ORDER BY id"));
  while (records.step()) {
    const Record record = read_record(records);
    if (!wanted(record.program, record.kernel)) continue;
    const bool sound = problems(record).empty();
    const bool added = sound && insert_record(*sql_, insert, record);
    ++(!sound ? report.refused : added ? report.records_added : report.records_known);
  }
  Statement save(*sql_, save_tuned_sql(/*always=*/false));
  Statement results(*other.sql_, select_tuned(""));
  while (results.step()) {
    const Tuned tuned = read_tuned(results);
    if (!wanted(tuned.program, "")) continue;
    const bool sound = problems(tuned).empty();
    const bool added = sound && insert_tuned(*sql_, save, tuned);
    ++(!sound ? report.refused : added ? report.tuned_added : report.tuned_known);
  }
  if (only.empty()) report.kernels_added = merge_kernels(other);
  transaction.commit();
  return report;
}

std::vector<std::string> Database::check() const {
  std::vector<std::string> found;
  const auto note = [&](const std::string& where, const std::vector<std::string>& lines) {
    for (const std::string& line : lines)
      if (found.size() < kMostProblems) found.push_back(where + ": " + line);
  };
  const int64_t version = sql_->owner().version;
  if (version < 1 || version > kSchemaVersion)
    note("schema", {fmt::format("version {}, expected 1 to {}", version, kSchemaVersion)});
  try {
    note("file", sql_->damages());
    Statement records(*sql_, "SELECT id, " + record_columns().names + ", content_key FROM records ORDER BY id");
    const int key_column = record_columns().count + 1;
    while (records.step()) {
      const Record record = read_record(records);
      std::string key;
      records.column(key_column, key);
      const std::string where = fmt::format("record {}", record.id);
      note(where, problems(record));
      if (key != content_key(record)) note(where, {"its content is not what was stored"});
    }
    Statement results(*sql_, select_tuned(""));
    while (results.step()) {
      const Tuned tuned = read_tuned(results);
      note("tuned " + tuned.program, problems(tuned));
    }
  } catch (const Error& error) {  // a damaged page ends the reading, not the check
    note("file", {error.what()});
  }
  return found;
}

}  // namespace hone
