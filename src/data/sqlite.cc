#include "data/sqlite.h"

#include <sqlite3.h>

#include "base/error.h"

namespace hone {

Sqlite::Sqlite(const std::string& path, bool read_only, int busy_timeout_ms)
    : path_(path), busy_timeout_ms_(busy_timeout_ms) {
  const int flags = read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr);
  if (code != SQLITE_OK) {
    const std::string why = handle_ != nullptr ? sqlite3_errmsg(handle_) : "out of memory";
    sqlite3_close(handle_);
    throw Error("cannot open the database: " + why, path,
                read_only ? "the file must exist" : "the folder must exist and be writable");
  }
  sqlite3_busy_timeout(handle_, busy_timeout_ms);
}

Sqlite::~Sqlite() { sqlite3_close(handle_); }

void Sqlite::fail(int code) const {
  const std::string why = sqlite3_errmsg(handle_);
  switch (code) {
    case SQLITE_NOTADB:
      throw Error("not a database", path_, "give the path of a database made by hone, or of a new file");
    case SQLITE_CORRUPT:
      throw Error("the database is damaged: " + why, path_, "restore a copy, or move the file away to start anew");
    case SQLITE_BUSY:
      throw RunError("the database stayed locked by another process", path_, "end the other process and try again");
    case SQLITE_READONLY:
      throw RunError("the database is read-only", path_);
    default:
      throw RunError("the database failed: " + why, path_);
  }
}

void Sqlite::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

void Sqlite::use_wal() {
  // SQLite does not wait for other processes here: two that create one file at once would block each other.
  constexpr int kPauseMs = 2;
  for (int waited_ms = 0;; waited_ms += kPauseMs) {
    const int code = sqlite3_exec(handle_, "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return;
    if (code != SQLITE_BUSY || waited_ms >= busy_timeout_ms_) fail(code);
    sqlite3_sleep(kPauseMs);
  }
}

int64_t Sqlite::integer(const std::string& sql) {
  Statement statement(*this, sql);
  int64_t value = 0;
  if (statement.step()) statement.column(0, value);
  return value;
}

std::string Sqlite::text(const std::string& sql) {
  Statement statement(*this, sql);
  std::string value;
  if (statement.step()) statement.column(0, value);
  return value;
}

int64_t Sqlite::changes() const { return sqlite3_changes(handle_); }

Statement::Statement(Sqlite& sqlite, const std::string& sql) : sqlite_(sqlite) {
  const int code = sqlite3_prepare_v2(sqlite.handle(), sql.c_str(), static_cast<int>(sql.size()), &statement_, nullptr);
  if (code != SQLITE_OK) sqlite.fail(code);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::bind(int index, const std::string& value) {
  sqlite3_bind_text64(statement_, index + 1, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}
void Statement::bind(int index, double value) { sqlite3_bind_double(statement_, index + 1, value); }
void Statement::bind(int index, int64_t value) { sqlite3_bind_int64(statement_, index + 1, value); }

void Statement::bind_blob(int index, const std::string& bytes) {
  sqlite3_bind_blob64(statement_, index + 1, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
}

void Statement::bind_from(int index, const Statement& row) {
  sqlite3_bind_value(statement_, index + 1, sqlite3_column_value(row.statement_, index));
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) {
    sqlite3_reset(statement_);
    sqlite_.fail(code);
  }
  return false;
}

void Statement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void Statement::column(int index, std::string& value) const {
  const bool blob = sqlite3_column_type(statement_, index) == SQLITE_BLOB;
  const auto* text = static_cast<const char*>(blob ? sqlite3_column_blob(statement_, index)
                                                   : static_cast<const void*>(sqlite3_column_text(statement_, index)));
  value.assign(text != nullptr ? text : "", text != nullptr ? sqlite3_column_bytes(statement_, index) : 0);
}
void Statement::column(int index, double& value) const { value = sqlite3_column_double(statement_, index); }
void Statement::column(int index, int64_t& value) const { value = sqlite3_column_int64(statement_, index); }
void Statement::column(int index, uint64_t& value) const {
  value = static_cast<uint64_t>(sqlite3_column_int64(statement_, index));
}
void Statement::column(int index, int& value) const { value = sqlite3_column_int(statement_, index); }
void Statement::column(int index, bool& value) const { value = sqlite3_column_int(statement_, index) != 0; }

Transaction::Transaction(Sqlite& sqlite) : sqlite_(sqlite) { sqlite_.execute("BEGIN IMMEDIATE"); }

Transaction::~Transaction() {
  // A failed ROLLBACK means that SQLite has rolled back by itself.
  if (open_) sqlite3_exec(sqlite_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  sqlite_.execute("COMMIT");
  open_ = false;
}

}  // namespace hone
