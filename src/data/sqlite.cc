#include "data/sqlite.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include "base/error.h"

namespace hone {

namespace {

constexpr int kApplicationId = 0x686f6e65;  // "hone", marks the file as Hone's

class Sqlite : public Sql {
 public:
  Sqlite(const std::string& path, bool read_only, int busy_timeout_ms);
  ~Sqlite() override { sqlite3_close(handle_); }
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  std::unique_ptr<SqlStatement> prepare(const std::string& sql) override;
  void execute(const std::string& sql) override;
  int64_t changes() const override { return sqlite3_changes(handle_); }
  void begin() override { execute("BEGIN IMMEDIATE"); }
  void commit() override { execute("COMMIT"); }
  // A failed ROLLBACK means that SQLite has already rolled back.
  void roll_back() noexcept override { sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr); }

  SqlOwner owner() override;
  void prepare_writing() override;
  void seal() override { execute("PRAGMA journal_mode = DELETE; VACUUM"); }
  void compact() override { execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"); }
  void claim() override { execute(fmt::format("PRAGMA application_id = {}", kApplicationId)); }
  void set_version(int64_t version) override { execute(fmt::format("PRAGMA user_version = {}", version)); }
  bool has_table(const std::string& name) override;
  int64_t bytes() override { return integer("PRAGMA page_count") * integer("PRAGMA page_size"); }
  std::vector<std::string> damages() override;

  sqlite3* handle() const { return handle_; }
  // Throws the exception for `code`: Error for a file that is not a (sound) database, RunError for the rest.
  [[noreturn]] void fail(int code) const;

 private:
  void use_wal();
  void undo_unfinished();
  int busy_timeout_ms_;
  sqlite3* handle_ = nullptr;
};

class SqliteStatement : public SqlStatement {
 public:
  SqliteStatement(Sqlite& sqlite, const std::string& sql);
  ~SqliteStatement() override { sqlite3_finalize(statement_); }
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  void bind(int index, const SqlValue& value) override;
  bool step() override;
  void reset() override;
  SqlValue value(int column) const override;

 private:
  Sqlite& sqlite_;
  sqlite3_stmt* statement_ = nullptr;
};

Sqlite::Sqlite(const std::string& path, bool read_only, int busy_timeout_ms) : busy_timeout_ms_(busy_timeout_ms) {
  path_ = path;
  const int flags = read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr);
  if (code != SQLITE_OK) {
    const std::string why = handle_ != nullptr ? sqlite3_errmsg(handle_) : "out of memory";
    sqlite3_close(handle_);
    throw Error("cannot open the database: " + why, path,
                read_only ? "the file must exist" : "the folder must exist and be writable");
  }
  sqlite3_busy_timeout(handle_, busy_timeout_ms);
  if (read_only) undo_unfinished();
}

// What a process began to write and did not end, since it was killed or its disk failed, is undone by the next one that may write. A reader
// may not: so a connection that may does it here, where there can be one.
void Sqlite::undo_unfinished() {
  constexpr char kAnyRead[] = "SELECT count(*) FROM sqlite_master";
  if (sqlite3_exec(handle_, kAnyRead, nullptr, nullptr, nullptr) == SQLITE_OK) return;
  const int reason = sqlite3_extended_errcode(handle_);
  if (reason != SQLITE_READONLY_ROLLBACK && reason != SQLITE_READONLY_RECOVERY)
    return;  // the first use says what it is
  sqlite3* writer = nullptr;
  if (sqlite3_open_v2(path_.c_str(), &writer, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK) {
    sqlite3_busy_timeout(writer, busy_timeout_ms_);
    sqlite3_exec(writer, kAnyRead, nullptr, nullptr, nullptr);
  }
  sqlite3_close(writer);
}

void Sqlite::fail(int code) const {
  const std::string why = sqlite3_errmsg(handle_);
  switch (code) {
    case SQLITE_NOTADB:
      throw Error("not a database", path_, "give the path of a database made by hone, or of a new file");
    case SQLITE_CORRUPT:
      throw Error("the database is damaged: " + why, path_,
                  "restore a copy, or move the file away to start with an empty one");
    case SQLITE_BUSY:
      throw RunError("the database stayed locked by another process", path_, "end the other process and try again");
    case SQLITE_READONLY:
      throw RunError("the database is read-only", path_);
    case SQLITE_FULL:
    case SQLITE_IOERR:
      throw RunError("the database cannot be written: " + why, path_,
                     "its content is kept: make room and run the same command again");
    default:
      throw RunError("the database failed: " + why, path_);
  }
}

std::unique_ptr<SqlStatement> Sqlite::prepare(const std::string& sql) {
  return std::make_unique<SqliteStatement>(*this, sql);
}

void Sqlite::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

void Sqlite::prepare_writing() {
  use_wal();
  execute("PRAGMA synchronous = NORMAL");
}

void Sqlite::use_wal() {
  // SQLite does not wait for other processes here: two that create the same file would block each other.
  constexpr int kPauseMs = 2;
  for (int waited_ms = 0;; waited_ms += kPauseMs) {
    const int code = sqlite3_exec(handle_, "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return;
    if (code != SQLITE_BUSY || waited_ms >= busy_timeout_ms_) fail(code);
    sqlite3_sleep(kPauseMs);
  }
}

SqlOwner Sqlite::owner() {
  const int64_t objects = integer("SELECT count(*) FROM sqlite_master");
  const int64_t version = integer("PRAGMA user_version");
  const int64_t application = integer("PRAGMA application_id");
  return {.empty = objects == 0 && version == 0 && application == 0,
          .ours = application == kApplicationId,
          .version = version};
}

bool Sqlite::has_table(const std::string& name) {
  return integer(fmt::format("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '{}'", name)) > 0;
}

std::vector<std::string> Sqlite::damages() {
  std::vector<std::string> found;
  Statement integrity(*this, "PRAGMA integrity_check");
  while (integrity.step()) {
    std::string line;
    integrity.column(0, line);
    if (line != "ok") found.push_back(line);
  }
  return found;
}

SqliteStatement::SqliteStatement(Sqlite& sqlite, const std::string& sql) : sqlite_(sqlite) {
  const int code = sqlite3_prepare_v2(sqlite.handle(), sql.c_str(), static_cast<int>(sql.size()), &statement_, nullptr);
  if (code != SQLITE_OK) sqlite.fail(code);
}

void SqliteStatement::bind(int index, const SqlValue& value) {
  const int at = index + 1;  // SQLite counts from 1
  if (const auto* text = std::get_if<std::string>(&value))
    sqlite3_bind_text64(statement_, at, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  else if (const auto* blob = std::get_if<SqlBlob>(&value))
    sqlite3_bind_blob64(statement_, at, blob->bytes.data(), blob->bytes.size(), SQLITE_TRANSIENT);
  else if (const auto* integer = std::get_if<int64_t>(&value))
    sqlite3_bind_int64(statement_, at, *integer);
  else if (const auto* real = std::get_if<double>(&value))
    sqlite3_bind_double(statement_, at, *real);
  else
    sqlite3_bind_null(statement_, at);
}

bool SqliteStatement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) {
    sqlite3_reset(statement_);
    sqlite_.fail(code);
  }
  return false;
}

void SqliteStatement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

SqlValue SqliteStatement::value(int column) const {
  const auto bytes = [&](const void* data) {
    return std::string(data != nullptr ? static_cast<const char*>(data) : "",
                       data != nullptr ? sqlite3_column_bytes(statement_, column) : 0);
  };
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
      return static_cast<int64_t>(sqlite3_column_int64(statement_, column));
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement_, column);
    case SQLITE_TEXT:
      return bytes(sqlite3_column_text(statement_, column));
    case SQLITE_BLOB:
      return SqlBlob{bytes(sqlite3_column_blob(statement_, column))};
    default:
      return std::monostate();
  }
}

}  // namespace

std::unique_ptr<Sql> open_sqlite(const std::string& path, bool read_only, int busy_timeout_ms) {
  return std::make_unique<Sqlite>(path, read_only, busy_timeout_ms);
}

}  // namespace hone
