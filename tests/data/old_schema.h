// Database files in the form of earlier versions of hone, written with their SQL.
#pragma once

#include <fmt/core.h>
#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/text.h"
#include "data/record.h"

namespace hone {

// Runs SQL on a separate connection.
inline void execute_sql(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &handle) == SQLITE_OK);
  const int code = sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr);
  INFO(sqlite3_errmsg(handle));
  CHECK(code == SQLITE_OK);
  sqlite3_close(handle);
  REQUIRE(code == SQLITE_OK);
}

// 1752133221: "hone" as a number.
inline constexpr char kSchema1[] = R"(
PRAGMA application_id = 1752133221;
CREATE TABLE records (id INTEGER PRIMARY KEY, scope TEXT NOT NULL, program TEXT NOT NULL, kernel TEXT NOT NULL,
  decisions TEXT NOT NULL, baseline_ns REAL NOT NULL, candidate_ns REAL NOT NULL, ratio REAL NOT NULL,
  ratio_low REAL NOT NULL, ratio_high REAL NOT NULL, rounds INTEGER NOT NULL, compile_ms REAL NOT NULL,
  verified INTEGER NOT NULL, max_error REAL NOT NULL, status TEXT NOT NULL, note TEXT NOT NULL, host TEXT NOT NULL,
  threads INTEGER NOT NULL, seed INTEGER NOT NULL, xla_version TEXT NOT NULL, created TEXT NOT NULL,
  content_key TEXT NOT NULL UNIQUE);
CREATE INDEX records_kernel ON records (kernel, host, threads, xla_version);
CREATE INDEX records_program ON records (program, scope, host, threads, xla_version);
CREATE TABLE tuned (program TEXT NOT NULL, host TEXT NOT NULL, threads INTEGER NOT NULL, weights TEXT NOT NULL,
  xla_version TEXT NOT NULL, options TEXT NOT NULL, decisions TEXT NOT NULL, default_ns REAL NOT NULL,
  tuned_ns REAL NOT NULL, speedup REAL NOT NULL, speedup_low REAL NOT NULL, speedup_high REAL NOT NULL,
  verified INTEGER NOT NULL, candidates INTEGER NOT NULL, seconds REAL NOT NULL, seed INTEGER NOT NULL,
  created TEXT NOT NULL, PRIMARY KEY (program, host, threads, weights, xla_version, options));
PRAGMA user_version = 1;
)";

// Added by version 2.
inline constexpr char kSchema2[] = R"(
CREATE TABLE kernels (fingerprint TEXT NOT NULL, threads INTEGER NOT NULL, program TEXT NOT NULL, family TEXT NOT NULL,
  kind TEXT NOT NULL, name TEXT NOT NULL, decision TEXT NOT NULL, options TEXT NOT NULL, option_count INTEGER NOT NULL,
  default_option INTEGER NOT NULL, default_tile TEXT NOT NULL, flops REAL NOT NULL, transcendentals REAL NOT NULL,
  bytes_read REAL NOT NULL, bytes_written REAL NOT NULL, hlo BLOB NOT NULL, module_proto BLOB NOT NULL,
  PRIMARY KEY (fingerprint, threads));
CREATE INDEX kernels_program ON kernels (program, threads);
CREATE TABLE programs (name TEXT PRIMARY KEY, family TEXT NOT NULL, fingerprint TEXT NOT NULL, content TEXT NOT NULL,
  configurations INTEGER NOT NULL);
PRAGMA user_version = 2;
)";

// Added by version 3.
inline constexpr char kSchema3[] = R"(
ALTER TABLE records ADD COLUMN stage TEXT NOT NULL DEFAULT '';
ALTER TABLE records ADD COLUMN finished INTEGER NOT NULL DEFAULT 0;
PRAGMA user_version = 3;
)";

// Added by versions 4 and 5.
inline constexpr char kSchema5[] = R"(
ALTER TABLE records ADD COLUMN baseline TEXT NOT NULL DEFAULT '';
ALTER TABLE records ADD COLUMN output_dims TEXT NOT NULL DEFAULT '';
CREATE TABLE machines (host TEXT NOT NULL PRIMARY KEY, record TEXT NOT NULL);
PRAGMA user_version = 5;
)";

inline constexpr char kFinishedNote[] = "best of a finished search";  // the mark in versions 1 and 2

inline std::string sql_literal(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}
inline std::string sql_literal(double number) { return fmt::format("{}", number); }
template <class Integer>
std::string sql_literal(Integer number) {
  return fmt::format("{}", static_cast<int64_t>(number));
}

// The statement of an earlier version that stores a row, with a key over the fields of that version and those fields of
// version 3 that are not empty. `created` must be set.
inline std::string old_insert(const Record& record, int version = 2) {
  std::string names, values, content;
  for_each_record_field(record, [&](const char* name, const auto& field) {
    const std::string_view column = name;
    const bool fourth = column == "baseline" || column == "output_dims";
    if (column == "core_ns" || column == "stolen_ms" || (fourth && version < 4)) return;
    const bool third = column == "stage" || column == "finished";
    if (third && version < 3) return;
    names += std::string(name) + ", ";
    values += sql_literal(field) + ", ";
    if (!(third || fourth) || field != std::decay_t<decltype(field)>{}) content += fmt::format("{}", field) + '\0';
  });
  return "INSERT INTO records (" + names + "content_key) VALUES (" + values + sql_literal(hash_hex(content)) + ")";
}

}  // namespace hone
