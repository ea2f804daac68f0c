#include "data/postgres.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <regex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "data/libpq.h"
#include "data/postgres_connection.h"

namespace hone {

namespace {

constexpr char kAdvisoryLock[] = "1752133221";  // "hone" as a number; held while several rows or the schema are written
constexpr char kKeepWhatThereIs[] = "what it has stored is kept: start it and run the same command again";
constexpr int kRestartPatienceMs = 5000;  // for a server that restarts; the time limit if that is shorter
constexpr auto kPause = std::chrono::milliseconds(200);

// libpq's messages have several lines and begin with a label.
std::string first_line(const char* message) {
  std::string line = message != nullptr ? message : "";
  line = line.substr(0, line.find('\n'));
  for (const char* label : {"ERROR:  ", "FATAL:  "})
    if (line.rfind(label, 0) == 0) line.erase(0, std::strlen(label));
  return line;
}

// Translates the dialect of sql.h into PostgreSQL's. Quoted text in it contains neither question marks nor names of types.
std::string translate(std::string sql) {
  static const std::pair<std::regex, const char*> kTypes[] = {
      {std::regex(R"(\bINTEGER PRIMARY KEY\b)"), "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"},
      {std::regex(R"(\bINTEGER\b)"), "BIGINT"},
      {std::regex(R"(\bREAL\b)"), "DOUBLE PRECISION"},
      {std::regex(R"(\bBLOB\b)"), "BYTEA"},
      {std::regex(R"(\bTEXT\b)"), "TEXT COLLATE \"C\""}};
  const bool creates = sql.rfind("CREATE TABLE ", 0) == 0, alters = sql.rfind("ALTER TABLE ", 0) == 0;
  const bool has_id = sql.find("INTEGER PRIMARY KEY") != std::string::npos;
  if (creates || alters)
    for (const auto& [type, word] : kTypes) sql = std::regex_replace(sql, type, word);
  if (creates && !has_id) sql.insert(sql.find('(') + 1, "rowid BIGINT GENERATED ALWAYS AS IDENTITY, ");
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

}  // namespace

Postgres::Postgres(const std::string& url, bool read_only, int busy_timeout_ms)
    : pq_(libpq()), read_only_(read_only), busy_timeout_ms_(busy_timeout_ms) {
  path_ = without_password(url);
  // Keywords before the URL are defaults, those after it override it. A server that stops answering (a lost node) is
  // noticed within half a minute.
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
  pq_.PQsetNoticeProcessor(connection_, [](void*, const char*) {}, nullptr);  // errors are enough
  try {
    set_up();
  } catch (...) {
    pq_.PQfinish(std::exchange(connection_, nullptr));
    throw;
  }
}

void Postgres::set_up() {
  execute_once("SET search_path = hone");
  execute_once("SET client_min_messages = warning");
  execute_once(fmt::format("SET lock_timeout = {}", busy_timeout_ms_));
  if (read_only_) execute_once("SET default_transaction_read_only = on");
}

bool Postgres::connect_again() {
  if (in_transaction_) return false;  // the transaction was rolled back
  const auto patience = std::chrono::milliseconds(std::min(kRestartPatienceMs, busy_timeout_ms_));
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    pq_.PQreset(connection_);
    try {
      if (!lost()) {
        set_up();
        return true;
      }
    } catch (const RunError&) {
      if (!lost()) throw;  // else it let us in and went: a restart, or a server that does so each time
    }
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kPause);
  }
}

void Postgres::fail(const PGresult* result) const {
  const std::string state = sqlstate(result);
  const char* message = result != nullptr ? pq_.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : nullptr;
  const std::string why = first_line(message != nullptr ? message : pq_.PQerrorMessage(connection_));
  if (copies(result)) throw RunError("the database server answered with a copy, which nobody asked for", path_);
  if (gone(result)) throw RunError("the database server is gone: " + why, path_, kKeepWhatThereIs);
  if (state == "55P03")
    throw RunError("the database stayed locked by another process", path_, "end the other process and try again");
  if (state == "25006") throw RunError("the database is read-only", path_);
  if (state == "53100") throw RunError("the database server's disk is full", path_, kKeepWhatThereIs);
  if (state == "42501")
    throw Error("the server denied permission: " + why, path_, "ask for the permission, or use another user");
  throw RunError("the database failed: " + why, path_);
}

std::unique_ptr<SqlStatement> Postgres::prepare(const std::string& sql) {
  return std::make_unique<PostgresStatement>(*this, translate(sql));
}

PgResult Postgres::answer(const std::string& sql) const { return PgResult(pq_.PQexec(connection_, sql.c_str())); }

bool Postgres::fine(const PGresult* result) const {
  const ExecStatusType status = pq_.PQresultStatus(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

void Postgres::execute_once(const std::string& sql) {
  const PgResult result = answer(sql);
  if (!fine(result.get())) fail(result.get());
}

void Postgres::execute(const std::string& sql) {
  const std::string translated = translate(sql);
  PgResult result = answer(translated);
  if (!fine(result.get()) && gone(result.get()) && connect_again()) result = answer(translated);
  if (!fine(result.get())) fail(result.get());
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
  PgResult(pq_.PQexec(connection_, "ROLLBACK"));  // the server rolls back a lost connection
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

void Postgres::compact() {
  for (const char* table : {"records", "tuned", "kernels", "programs", "machines"})
    if (has_table(table)) execute(std::string("VACUUM FULL ") + table);
}

int64_t Postgres::bytes() {
  return integer(
      "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c JOIN pg_namespace n "
      "ON n.oid = c.relnamespace WHERE n.nspname = 'hone' AND c.relkind = 'r'");
}

bool is_postgres_url(const std::string& path) {
  return path.rfind("postgresql://", 0) == 0 || path.rfind("postgres://", 0) == 0;
}

std::vector<PasswordPlace> password_places(std::string_view url) {
  std::vector<PasswordPlace> places;
  const size_t scheme = url.find("://");
  if (!is_postgres_url(std::string(url)) || scheme == std::string_view::npos) return places;
  const size_t first = scheme + 3;
  const std::string_view authority = url.substr(first, url.find_first_of("/?", first) - first);
  const size_t at = authority.rfind('@'), colon = authority.find(':');
  if (at != std::string_view::npos && colon < at) places.push_back({first + colon + 1, at - colon - 1});
  constexpr std::string_view kOption = "password=";
  for (size_t mark = url.find('?'); mark != std::string_view::npos; mark = url.find('&', mark + 1))
    if (url.substr(mark + 1).starts_with(kOption)) {
      const size_t from = mark + 1 + kOption.size();
      places.push_back({from, std::min(url.find('&', from), url.size()) - from});
    }
  return places;
}

std::string without_password(const std::string& url) {
  std::string shown = url;
  const std::vector<PasswordPlace> places = password_places(url);
  for (auto place = places.rbegin(); place != places.rend(); ++place)
    if (shown[place->first - 1] == ':')
      shown.erase(place->first - 1, place->length + 1);
    else
      shown.replace(place->first, place->length, "***");
  return shown;
}

std::unique_ptr<Sql> open_postgres(const std::string& url, bool read_only, int busy_timeout_ms) {
  return std::make_unique<Postgres>(url, read_only, busy_timeout_ms);
}

}  // namespace hone
