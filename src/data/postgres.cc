#include "data/postgres.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <postgresql/libpq-fe.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <regex>
#include <thread>
#include <utility>

#include "base/error.h"

namespace hone {

namespace {

// What we call of libpq, by its own names.
// clang-format off: a name a line
#define HONE_LIBPQ(ROW) \
  ROW(PQconnectdbParams) \
  ROW(PQfinish) \
  ROW(PQreset) \
  ROW(PQstatus) \
  ROW(PQerrorMessage) \
  ROW(PQexec) \
  ROW(PQsendQueryParams) \
  ROW(PQsetSingleRowMode) \
  ROW(PQgetResult) \
  ROW(PQresultStatus) \
  ROW(PQresultErrorField) \
  ROW(PQclear) \
  ROW(PQcmdTuples) \
  ROW(PQgetisnull) \
  ROW(PQgetvalue) \
  ROW(PQgetlength) \
  ROW(PQftype) \
  ROW(PQunescapeBytea) \
  ROW(PQfreemem) \
  ROW(PQsetNoticeProcessor)
// clang-format on

struct Libpq {
#define ROW(name) decltype(&::name) name = nullptr;
  HONE_LIBPQ(ROW)
#undef ROW
};

// Opened once a process and never closed: libraries that it brings along do not like to be unloaded.
const Libpq& libpq() {
  static const Libpq functions = [] {
    void* library = ::dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      throw Error("PostgreSQL's client library cannot be opened: " + std::string(::dlerror()), "libpq.so.5",
                  "install Debian's package libpq5, or name a file with --db");
    Libpq found;
#define ROW(name)                                                            \
  found.name = reinterpret_cast<decltype(&::name)>(::dlsym(library, #name)); \
  if (found.name == nullptr) throw Error("libpq.so.5 has no " #name, "libpq.so.5", "install a newer libpq5");
    HONE_LIBPQ(ROW)
#undef ROW
    return found;
  }();
  return functions;
}

constexpr char kAdvisoryLock[] = "1752133221";  // "hone" as a number: who holds it writes several rows or the schema
constexpr char kKeepWhatThereIs[] = "what it has stored is kept: start it and run the same command again";
constexpr int kRestartPatienceMs = 5000;  // for a server that is started again; the time limit if that is shorter
constexpr auto kPause = std::chrono::milliseconds(200);
enum Type : unsigned {
  kBool = 16,
  kBytes = 17,
  kInt8 = 20,
  kInt2 = 21,
  kInt4 = 23,
  kFloat4 = 700,
  kFloat8 = 701,
  kNumeric = 1700
};  // PostgreSQL's pg_type.dat

struct Clear {
  void operator()(PGresult* result) const { libpq().PQclear(result); }
};
using Result = std::unique_ptr<PGresult, Clear>;

// libpq's messages run over several lines and begin with a label.
std::string first_line(const char* message) {
  std::string line = message != nullptr ? message : "";
  line = line.substr(0, line.find('\n'));
  for (const char* label : {"ERROR:  ", "FATAL:  "})
    if (line.rfind(label, 0) == 0) line.erase(0, std::strlen(label));
  return line;
}

// Our dialect in PostgreSQL's words (see sql.h). No text of ours has a question mark or a type's name inside quotes.
std::string translate(std::string sql) {
  static const std::pair<std::regex, const char*> kTypes[] = {
      {std::regex(R"(\bINTEGER PRIMARY KEY\b)"), "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"},
      {std::regex(R"(\bINTEGER\b)"), "BIGINT"},
      {std::regex(R"(\bREAL\b)"), "DOUBLE PRECISION"},
      {std::regex(R"(\bBLOB\b)"), "BYTEA"},
      {std::regex(R"(\bTEXT\b)"), "TEXT COLLATE \"C\""}};
  if (sql.rfind("CREATE TABLE ", 0) == 0) {
    const bool has_id = sql.find("INTEGER PRIMARY KEY") != std::string::npos;
    for (const auto& [type, word] : kTypes) sql = std::regex_replace(sql, type, word);
    if (!has_id) sql.insert(sql.find('(') + 1, "rowid BIGINT GENERATED ALWAYS AS IDENTITY, ");
  }
  std::string translated;
  int marks = 0;
  for (const char c : sql) {
    if (c == '?')
      translated += "$" + std::to_string(++marks);
    else
      translated += c;
  }
  return translated;
}

class Postgres : public Sql {
 public:
  Postgres(const std::string& url, bool read_only, int busy_timeout_ms);
  ~Postgres() override { pq_.PQfinish(connection_); }
  Postgres(const Postgres&) = delete;
  Postgres& operator=(const Postgres&) = delete;

  std::unique_ptr<SqlStatement> prepare(const std::string& sql) override;
  void execute(const std::string& sql) override;
  int64_t changes() const override { return changes_; }
  void begin() override;
  void commit() override;
  void roll_back() noexcept override;

  SqlOwner owner() override;
  void claim() override;
  void set_version(int64_t version) override;
  bool has_table(const std::string& name) override;
  int64_t bytes() override;
  std::vector<std::string> damages() override { return {}; }  // the server looks after its files itself

  // For statements.
  const Libpq& pq() const { return pq_; }
  PGconn* connection() const { return connection_; }
  void count_changes(int64_t rows) { changes_ = rows; }
  bool lost() const { return pq_.PQstatus(connection_) != CONNECTION_OK; }
  // Whether a failure means that the server is gone. A connection that breaks while it is written to does not know it
  // yet, but what libpq itself makes up has no SQLSTATE.
  bool gone(const PGresult* failed) const {
    const std::string state = sqlstate(failed);
    return lost() || (failed != nullptr && state.empty()) || state.rfind("57P", 0) == 0;
  }
  // After a lost connection: true if there is a new one and the statement can be sent again.
  bool connect_again();
  [[noreturn]] void fail(const PGresult* result) const;

 private:
  void set_up();
  std::string sqlstate(const PGresult* failed) const {
    const char* code = failed != nullptr ? pq_.PQresultErrorField(failed, PG_DIAG_SQLSTATE) : nullptr;
    return code != nullptr ? code : "";
  }
  const Libpq& pq_;
  bool read_only_;
  int busy_timeout_ms_;
  PGconn* connection_ = nullptr;
  bool in_transaction_ = false;
  int64_t changes_ = 0;
};

class PostgresStatement : public SqlStatement {
 public:
  PostgresStatement(Postgres& postgres, const std::string& sql) : postgres_(postgres), sql_(translate(sql)) {}
  ~PostgresStatement() override { drain(); }
  PostgresStatement(const PostgresStatement&) = delete;
  PostgresStatement& operator=(const PostgresStatement&) = delete;

  void bind(int index, const SqlValue& value) override;
  bool step() override;
  void reset() override;
  SqlValue value(int column) const override;

 private:
  struct Parameter {
    std::string bytes;
    bool null = true, binary = false;
  };
  void send();
  bool take_row();  // false at the end
  void drain();
  Postgres& postgres_;
  std::string sql_;
  std::vector<Parameter> parameters_;
  enum class State { Ready, Reading, Done } state_ = State::Ready;
  Result row_;
};

Postgres::Postgres(const std::string& url, bool read_only, int busy_timeout_ms)
    : pq_(libpq()), read_only_(read_only), busy_timeout_ms_(busy_timeout_ms) {
  path_ = without_password(url);
  // What stands before the URL is a default, what stands behind it is not up to the user. A server that vanishes without
  // a word (a lost node) is noticed within half a minute.
  const char* const keywords[] = {"connect_timeout",  "keepalives_idle",  "keepalives_interval",
                                  "keepalives_count", "tcp_user_timeout", "dbname",
                                  "client_encoding",  "application_name", nullptr};
  const char* const values[] = {"10", "10", "5", "4", "30000", url.c_str(), "UTF8", "hone", nullptr};
  connection_ = pq_.PQconnectdbParams(keywords, values, /*expand_dbname=*/1);
  if (connection_ == nullptr || lost()) {
    const std::string why = connection_ != nullptr ? first_line(pq_.PQerrorMessage(connection_)) : "out of memory";
    if (connection_ != nullptr) pq_.PQfinish(std::exchange(connection_, nullptr));
    throw Error("cannot open the database: " + why, path_, "is the server running, and is the URL right?");
  }
  pq_.PQsetNoticeProcessor(connection_, [](void*, const char*) {}, nullptr);  // errors say enough
  try {
    set_up();
  } catch (...) {
    pq_.PQfinish(std::exchange(connection_, nullptr));
    throw;
  }
}

void Postgres::set_up() {
  execute("SET search_path = hone");
  execute("SET client_min_messages = warning");
  execute(fmt::format("SET lock_timeout = {}", busy_timeout_ms_));
  if (read_only_) execute("SET default_transaction_read_only = on");
}

bool Postgres::connect_again() {
  if (in_transaction_) return false;  // what it did is undone
  const auto patience = std::chrono::milliseconds(std::min(kRestartPatienceMs, busy_timeout_ms_));
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    pq_.PQreset(connection_);
    if (!lost()) break;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kPause);
  }
  set_up();
  return true;
}

void Postgres::fail(const PGresult* result) const {
  const std::string state = sqlstate(result);
  const char* message = result != nullptr ? pq_.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : nullptr;
  const std::string why = first_line(message != nullptr ? message : pq_.PQerrorMessage(connection_));
  if (gone(result)) throw RunError("the database server is gone: " + why, path_, kKeepWhatThereIs);
  if (state == "55P03")
    throw RunError("the database stayed locked by another process", path_, "end the other process and try again");
  if (state == "25006") throw RunError("the database is read-only", path_);
  if (state == "53100") throw RunError("the database server's disk is full", path_, kKeepWhatThereIs);
  if (state == "42501")
    throw Error("the server does not allow it: " + why, path_, "ask for the right, or another user");
  throw RunError("the database failed: " + why, path_);
}

std::unique_ptr<SqlStatement> Postgres::prepare(const std::string& sql) {
  return std::make_unique<PostgresStatement>(*this, sql);
}

void Postgres::execute(const std::string& sql) {
  const std::string translated = translate(sql);
  const auto run = [&] { return Result(pq_.PQexec(connection_, translated.c_str())); };
  Result result = run();
  const auto fine = [&] {
    const ExecStatusType status = pq_.PQresultStatus(result.get());
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  };
  if (!fine() && gone(result.get()) && connect_again()) result = run();
  if (!fine()) fail(result.get());
}

void Postgres::begin() {
  execute("BEGIN");
  in_transaction_ = true;
  try {
    execute(fmt::format("SELECT pg_advisory_xact_lock({})", kAdvisoryLock));
  } catch (...) {
    roll_back();
    throw;
  }
}

void Postgres::commit() {
  execute("COMMIT");
  in_transaction_ = false;
}

void Postgres::roll_back() noexcept {
  Result(pq_.PQexec(connection_, "ROLLBACK"));  // a lost connection has rolled back by itself
  in_transaction_ = false;
}

SqlOwner Postgres::owner() {
  SqlOwner owner;
  owner.empty = integer("SELECT count(*) FROM pg_tables WHERE schemaname = 'hone'") == 0;
  owner.ours = has_table("about");
  if (owner.ours) owner.version = integer("SELECT max(version) FROM about");
  return owner;
}

void Postgres::claim() {
  execute("CREATE SCHEMA IF NOT EXISTS hone");
  execute("CREATE TABLE about (version INTEGER NOT NULL)");
}

void Postgres::set_version(int64_t version) {
  execute("DELETE FROM about");
  execute(fmt::format("INSERT INTO about (version) VALUES ({})", version));
}

bool Postgres::has_table(const std::string& name) {
  return integer(fmt::format("SELECT count(*) FROM pg_tables WHERE schemaname = 'hone' AND tablename = '{}'", name)) >
         0;
}

int64_t Postgres::bytes() {
  return integer(
      "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c JOIN pg_namespace n "
      "ON n.oid = c.relnamespace WHERE n.nspname = 'hone' AND c.relkind = 'r'");
}

void PostgresStatement::bind(int index, const SqlValue& value) {
  if (index >= static_cast<int>(parameters_.size())) parameters_.resize(index + 1);
  Parameter& parameter = parameters_[index];
  parameter = {};
  parameter.null = std::holds_alternative<std::monostate>(value);
  if (const auto* text = std::get_if<std::string>(&value)) parameter.bytes = encode_text(*text);
  if (const auto* integer = std::get_if<int64_t>(&value)) parameter.bytes = std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) parameter.bytes = fmt::format("{}", *real);  // shortest and exact
  if (const auto* blob = std::get_if<SqlBlob>(&value)) {
    parameter.bytes = blob->bytes;
    parameter.binary = true;
  }
}

void PostgresStatement::send() {
  std::vector<const char*> values;
  std::vector<int> lengths, formats;
  for (const Parameter& parameter : parameters_) {
    values.push_back(parameter.null ? nullptr : parameter.bytes.c_str());
    lengths.push_back(static_cast<int>(parameter.bytes.size()));
    formats.push_back(parameter.binary);
  }
  const Libpq& pq = postgres_.pq();
  const bool sent = pq.PQsendQueryParams(postgres_.connection(), sql_.c_str(), static_cast<int>(values.size()), nullptr,
                                         values.data(), lengths.data(), formats.data(), /*resultFormat=*/0) != 0;
  if (!sent && !postgres_.lost()) postgres_.fail(nullptr);  // a lost one is seen when the first row is asked for
  if (sent) pq.PQsetSingleRowMode(postgres_.connection());
  state_ = State::Reading;
}

bool PostgresStatement::take_row() {
  const Libpq& pq = postgres_.pq();
  row_.reset(pq.PQgetResult(postgres_.connection()));
  switch (row_ != nullptr ? pq.PQresultStatus(row_.get()) : PGRES_FATAL_ERROR) {
    case PGRES_SINGLE_TUPLE:
      return true;
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK: {
      const char* rows = pq.PQcmdTuples(row_.get());
      int64_t count = 0;
      std::from_chars(rows, rows + std::strlen(rows), count);
      postgres_.count_changes(count);
      drain();
      return false;
    }
    default:
      return false;
  }
}

bool PostgresStatement::step() {
  if (state_ == State::Done) return false;
  const bool first = state_ == State::Ready;
  if (first) send();
  if (take_row()) return true;
  if (state_ == State::Done) return false;
  Result failed = std::move(row_);
  drain();
  if (first && postgres_.gone(failed.get()) && postgres_.connect_again()) {
    send();
    if (take_row()) return true;
    if (state_ == State::Done) return false;
    failed = std::move(row_);
    drain();
  }
  postgres_.fail(failed.get());
}

// Reads and forgets what is left, so that the connection is free for the next statement.
void PostgresStatement::drain() {
  if (state_ == State::Reading)
    while (PGresult* rest = postgres_.pq().PQgetResult(postgres_.connection())) postgres_.pq().PQclear(rest);
  row_.reset();
  state_ = State::Done;
}

void PostgresStatement::reset() {
  drain();
  parameters_.clear();
  state_ = State::Ready;
}

SqlValue PostgresStatement::value(int column) const {
  const Libpq& pq = postgres_.pq();
  if (row_ == nullptr || pq.PQgetisnull(row_.get(), 0, column)) return std::monostate();
  const char* data = pq.PQgetvalue(row_.get(), 0, column);
  const char* end = data + pq.PQgetlength(row_.get(), 0, column);
  switch (pq.PQftype(row_.get(), column)) {
    case kBool:
      return static_cast<int64_t>(*data == 't');
    case kInt2:
    case kInt4:
    case kInt8: {
      int64_t number = 0;
      std::from_chars(data, end, number);
      return number;
    }
    case kFloat4:
    case kFloat8:
    case kNumeric: {
      double number = 0;
      std::from_chars(data, end, number);
      return number;
    }
    case kBytes: {
      size_t size = 0;
      unsigned char* bytes = pq.PQunescapeBytea(reinterpret_cast<const unsigned char*>(data), &size);
      if (bytes == nullptr) throw RunError("out of memory while reading the database", postgres_.path());
      SqlBlob blob{std::string(reinterpret_cast<const char*>(bytes), size)};
      pq.PQfreemem(bytes);
      return blob;
    }
    default:
      return decode_text({data, end});
  }
}

}  // namespace

bool is_postgres_url(const std::string& path) {
  return path.rfind("postgresql://", 0) == 0 || path.rfind("postgres://", 0) == 0;
}

std::string without_password(const std::string& url) {
  static const std::regex in_authority(R"(^(postgres(?:ql)?://[^:/@?]*):[^/?]*@)"), in_query(R"(([?&]password=)[^&]*)");
  return std::regex_replace(std::regex_replace(url, in_authority, "$1@"), in_query, "$1***");
}

std::unique_ptr<Sql> open_postgres(const std::string& url, bool read_only, int busy_timeout_ms) {
  return std::make_unique<Postgres>(url, read_only, busy_timeout_ms);
}

}  // namespace hone
