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
#include "base/json_text.h"
#include "data/postgres.h"
#include "data/schema.h"
#include "data/sqlite.h"

namespace hone {

namespace {

constexpr size_t kMostProblems = 100;

std::string utc_now() {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto ms = now.time_since_epoch().count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), ms);
}

constexpr const char* kOldestFirst = "ORDER BY id";
constexpr const char* kBestOnly = "AND status = 'ok' AND baseline = '' ORDER BY ratio_low DESC, id LIMIT 1";

std::optional<Record> first(std::vector<Record> records) {
  if (records.empty()) return std::nullopt;
  return std::move(records.front());
}

std::unique_ptr<Sql> open_engine(const std::string& path, bool read_only, int busy_timeout_ms) {
  return (is_postgres_url(path) ? open_postgres : open_sqlite)(path, read_only, busy_timeout_ms);
}

// Throws InternalError: Hone must store only valid rows.
void require_sound(const std::vector<std::string>& found) {
  if (!found.empty()) throw InternalError("a row for the database is invalid: " + found.front());
}

}  // namespace

Database::Database(std::unique_ptr<Sql> sql, int64_t schema) : sql_(std::move(sql)), schema_(schema) {}
Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&& other) noexcept {
  insert_.swap(other.insert_);  // swapped, so that statements are destroyed before their connection
  sql_.swap(other.sql_);
  std::swap(schema_, other.schema_);
  return *this;
}

Database Database::open(const std::string& path, const DatabaseOptions& options) {
  std::unique_ptr<Sql> sql = open_engine(path, options.read_only, options.busy_timeout_ms);
  const int64_t version = schema_of(*sql);
  if (options.read_only) {
    if (version == 0) throw Error("the database is empty", sql->path());
    return Database(std::move(sql), version);
  }
  sql->prepare_writing();
  if (version < kSchemaVersion) {
    Transaction transaction(*sql);
    migrate(*sql, schema_of(*sql));  // read again: another process may have migrated it meanwhile
    transaction.commit();
  }
  return Database(std::move(sql), kSchemaVersion);
}

void Database::try_writing(const std::string& path, int busy_timeout_ms) {
  const std::unique_ptr<Sql> sql = open_engine(path, /*read_only=*/false, busy_timeout_ms);
  const bool unclaimed = schema_of(*sql) == 0;
  const Transaction rolled_back(*sql);
  if (unclaimed) sql->claim();
}

// Rows of one kernel or program under equal conditions; the fingerprint's column is named by the scope's last word.
std::vector<Record> Database::find(const std::string& scope, const std::string& fingerprint, const std::string& host,
                                   int threads, const std::string& xla_version, const char* rest) const {
  const std::string column = scope.substr(scope.rfind(' ') + 1);
  const std::string where = "WHERE scope = ? AND " + column + " = ? AND host = ? AND threads = ? AND xla_version = ? ";
  Statement query(*sql_, select_records(schema_, where + rest));
  query.bind(0, scope);
  query.bind(1, fingerprint);
  query.bind(2, host);
  query.bind(3, threads);
  query.bind(4, xla_version);
  std::vector<Record> records;
  while (query.step()) records.push_back(read_record(query, schema_));
  return records;
}

void Database::seal() {
  insert_.reset();
  sql_->seal();
}

CompactReport Database::compact(int64_t keep) {
  CompactReport report{.bytes_before = sql_->bytes()};
  insert_.reset();
  if (keep > 0) {
    Transaction transaction(*sql_);
    sql_->execute(fmt::format(
        "DELETE FROM records WHERE id IN (SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY scope, program, "
        "kernel, decisions, baseline, status, host, threads, xla_version, finished, output_dims ORDER BY created DESC, "
        "id DESC) AS age FROM records) AS aged WHERE age > {})",
        keep));
    report.records_removed = sql_->changes();
    transaction.commit();
  }
  sql_->compact();
  report.bytes_after = sql_->bytes();
  return report;
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
                                          const std::string& xla_version, const char* scope) const {
  return find(scope, kernel, host, threads, xla_version, kOldestFirst);
}

std::vector<Record> Database::find_program(const std::string& program, const std::string& host, int threads,
                                           const std::string& xla_version) const {
  return find("program", program, host, threads, xla_version, kOldestFirst);
}

std::optional<Record> Database::best_kernel(const std::string& kernel, const std::string& host, int threads,
                                            const std::string& xla_version) const {
  return first(find("kernel", kernel, host, threads, xla_version, kBestOnly));
}

std::optional<Record> Database::best_program(const std::string& program, const std::string& host, int threads,
                                             const std::string& xla_version) const {
  return first(find("program", program, host, threads, xla_version, kBestOnly));
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
  Statement records(*sql_, select_records(schema_, "ORDER BY id"));
  while (records.step()) {
    const Record record = read_record(records, schema_);
    nlohmann::ordered_json line = {{"table", "records"}, {"id", record.id}};
    for_each_record_field(record, [&](const char* name, const auto& field) { line[name] = field; });
    print(line);
  }
  Statement results(*sql_, select_tuned(std::string("ORDER BY ") + kTunedKey));
  while (results.step()) {
    const Tuned tuned = read_tuned(results);
    nlohmann::ordered_json line = {{"table", "tuned"}};
    for_each_tuned_field(tuned, [&](const char* name, const auto& field) { line[name] = field; });
    auto decisions = nlohmann::ordered_json::parse(shallow_json(tuned.decisions), nullptr, /*allow_exceptions=*/false);
    if (decisions.is_discarded()) decisions = nullptr;
    line["decisions"] = std::move(decisions);
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
  Statement records(*other.sql_, select_records(other.schema_, "ORDER BY id"));
  while (records.step()) {
    const Record record = read_record(records, other.schema_);
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
  merge_machines(other);
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
    Statement records(*sql_, select_records(schema_, "ORDER BY id"));
    while (records.step()) {
      const Record record = read_record(records, schema_);
      const std::string where = fmt::format("record {}", record.id);
      note(where, problems(record));
      if (read_content_key(records) != content_key(read_record_as_stored(records)))
        note(where, {"its content is not what was stored"});
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
