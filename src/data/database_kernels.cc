// The functions of Database for the tables of kernels and programs.
#include <fmt/core.h>

#include <limits>
#include <sstream>

#include "base/error.h"
#include "data/database.h"
#include "data/sql.h"
#include "data/stored_kernel.h"

namespace hone {

namespace {

constexpr const char* kKernelColumns =
    "fingerprint, threads, program, family, kind, name, decision, options, option_count, default_option, default_tile, "
    "flops, transcendentals, bytes_read, bytes_written, hlo, module_proto";
constexpr int kKernelColumnCount = 17;
constexpr const char* kProgramColumns = "name, family, fingerprint, content, configurations";
constexpr int kProgramColumnCount = 5;
constexpr const char* kReplaceProgram =
    "(name) DO UPDATE SET family = excluded.family, fingerprint = excluded.fingerprint, content = excluded.content, "
    "configurations = excluded.configurations";

std::string insert_sql(const char* table, const char* columns, int count, const char* on_conflict = "DO NOTHING") {
  std::string marks = "?";
  for (int i = 1; i < count; ++i) marks += ", ?";
  return fmt::format("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT {}", table, columns, marks, on_conflict);
}

std::string join_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

void create_kernel_tables(Sql& sql) {
  sql.execute(
      "CREATE TABLE kernels (fingerprint TEXT NOT NULL, threads INTEGER NOT NULL, program TEXT NOT NULL, family TEXT "
      "NOT NULL, "
      "kind TEXT NOT NULL, name TEXT NOT NULL, decision TEXT NOT NULL, options TEXT NOT NULL, option_count INTEGER NOT "
      "NULL, "
      "default_option INTEGER NOT NULL, default_tile TEXT NOT NULL, flops REAL NOT NULL, transcendentals REAL NOT "
      "NULL, bytes_read REAL NOT NULL, "
      "bytes_written REAL NOT NULL, hlo BLOB NOT NULL, module_proto BLOB NOT NULL, PRIMARY KEY (fingerprint, "
      "threads))");
  sql.execute("CREATE INDEX kernels_program ON kernels (program, threads)");
  sql.execute(
      "CREATE TABLE programs (name TEXT PRIMARY KEY, family TEXT NOT NULL, fingerprint TEXT NOT NULL, content TEXT NOT "
      "NULL, "
      "configurations INTEGER NOT NULL)");
}

void create_machine_table(Sql& sql) {
  sql.execute("CREATE TABLE machines (host TEXT PRIMARY KEY, record TEXT NOT NULL)");
}

bool Database::add_kernel(const StoredKernel& kernel) {
  if (kernel.fingerprint.empty() || kernel.program.empty() || kernel.options.empty() || kernel.default_option < 0 ||
      kernel.default_option >= static_cast<int>(kernel.options.size()))
    throw InternalError("a kernel for the database is invalid: " + kernel.fingerprint);
  Statement insert(*sql_, insert_sql("kernels", kKernelColumns, kKernelColumnCount));
  int column = 0;
  insert.bind(column++, kernel.fingerprint);
  insert.bind(column++, kernel.threads);
  for (const std::string* text : {&kernel.program, &kernel.family, &kernel.kind, &kernel.name, &kernel.decision})
    insert.bind(column++, *text);
  insert.bind(column++, join_lines(kernel.options));
  insert.bind(column++, static_cast<int64_t>(kernel.options.size()));
  insert.bind(column++, kernel.default_option);
  insert.bind(column++, kernel.default_tile);
  for (double number : {kernel.flops, kernel.transcendentals, kernel.bytes_read, kernel.bytes_written})
    insert.bind(column++, number);
  insert.bind_blob(column++, pack_bytes(kernel.hlo));
  insert.bind_blob(column++, pack_bytes(kernel.module_proto));
  insert.step();
  return sql_->changes() > 0;
}

std::optional<StoredKernel> Database::find_stored_kernel(const std::string& fingerprint, int threads) const {
  if (!has_kernels()) return std::nullopt;
  Statement query(*sql_, fmt::format("SELECT {} FROM kernels WHERE fingerprint = ? AND threads = ?", kKernelColumns));
  query.bind(0, fingerprint);
  query.bind(1, threads);
  if (!query.step()) return std::nullopt;
  StoredKernel kernel;
  std::string options, hlo, proto;
  int64_t count = 0;
  int column = 0;
  query.column(column++, kernel.fingerprint);
  query.column(column++, kernel.threads);
  for (std::string* text : {&kernel.program, &kernel.family, &kernel.kind, &kernel.name, &kernel.decision, &options})
    query.column(column++, *text);
  query.column(column++, count);
  query.column(column++, kernel.default_option);
  query.column(column++, kernel.default_tile);
  for (double* number : {&kernel.flops, &kernel.transcendentals, &kernel.bytes_read, &kernel.bytes_written})
    query.column(column++, *number);
  query.column(column++, hlo);
  query.column(column++, proto);
  kernel.options = split_lines(options);
  const std::string where = fmt::format("{}, kernel {}", sql_->path(), fingerprint);
  try {
    kernel.hlo = unpack_bytes(hlo);
    kernel.module_proto = unpack_bytes(proto);
  } catch (const Error& damaged) {
    throw Error(damaged.what(), where);
  }
  if (static_cast<int64_t>(kernel.options.size()) != count || kernel.default_option < 0 ||
      kernel.default_option >= count)
    throw Error("the kernel's options are damaged", where);
  return kernel;
}

std::vector<StoredKernelSummary> Database::stored_kernels(int threads, const std::string& program,
                                                          int64_t limit) const {
  std::vector<StoredKernelSummary> found;
  if (!has_kernels()) return found;
  Statement query(*sql_, std::string("SELECT fingerprint, program, option_count FROM kernels WHERE threads = ? ") +
                             (program.empty() ? "AND ? = '' " : "AND program = ? ") + "ORDER BY rowid LIMIT ?");
  query.bind(0, threads);
  query.bind(1, program);
  query.bind(2, limit > 0 ? limit : std::numeric_limits<int64_t>::max());
  while (query.step()) {
    StoredKernelSummary& kernel = found.emplace_back();
    query.column(0, kernel.fingerprint);
    query.column(1, kernel.program);
    query.column(2, kernel.options);
  }
  return found;
}

void Database::save_program(const StoredProgram& program) {
  Statement insert(*sql_, insert_sql("programs", kProgramColumns, kProgramColumnCount, kReplaceProgram));
  int column = 0;
  for (const std::string* text : {&program.name, &program.family, &program.fingerprint, &program.content})
    insert.bind(column++, *text);
  insert.bind(column, program.configurations);
  insert.step();
}

std::optional<StoredProgram> Database::find_stored_program(const std::string& name) const {
  if (!has_kernels()) return std::nullopt;
  Statement query(*sql_, fmt::format("SELECT {} FROM programs WHERE name = ?", kProgramColumns));
  query.bind(0, name);
  if (!query.step()) return std::nullopt;
  StoredProgram program;
  int column = 0;
  for (std::string* text : {&program.name, &program.family, &program.fingerprint, &program.content})
    query.column(column++, *text);
  query.column(column, program.configurations);
  return program;
}

std::vector<MeasuredUnder> Database::measured_under(const char* scope) const {
  std::vector<MeasuredUnder> found;
  Statement query(*sql_,
                  "SELECT host, threads, xla_version, count(*) AS rows FROM records WHERE scope = ? "
                  "GROUP BY host, threads, xla_version ORDER BY rows DESC, host, threads, xla_version");
  query.bind(0, std::string(scope));
  while (query.step()) {
    MeasuredUnder& under = found.emplace_back();
    query.column(0, under.host);
    query.column(1, under.threads);
    query.column(2, under.xla_version);
    query.column(3, under.records);
  }
  return found;
}

void Database::save_machine(const std::string& host, const std::string& record) {
  Statement insert(*sql_, insert_sql("machines", "host, record", 2, "(host) DO UPDATE SET record = excluded.record"));
  insert.bind(0, host);
  insert.bind(1, record);
  insert.step();
}

std::optional<std::string> Database::find_machine(const std::string& host) const {
  if (!sql_->has_table("machines")) return std::nullopt;  // of an older schema
  Statement query(*sql_, "SELECT record FROM machines WHERE host = ?");
  query.bind(0, host);
  if (!query.step()) return std::nullopt;
  std::string record;
  query.column(0, record);
  return record;
}

void Database::merge_machines(const Database& other) {
  if (!other.sql_->has_table("machines")) return;
  Statement machines(*other.sql_, "SELECT host, record FROM machines");
  Statement insert(*sql_, insert_sql("machines", "host, record", 2));
  while (machines.step()) {
    insert.reset();
    for (int column = 0; column < 2; ++column) insert.bind_from(column, machines);
    insert.step();
  }
}

bool Database::has_kernels() const { return sql_->has_table("kernels"); }

int64_t Database::merge_kernels(const Database& other) {
  int64_t added = 0;
  if (!other.has_kernels()) return added;
  Statement kernels(*other.sql_, fmt::format("SELECT {} FROM kernels ORDER BY rowid", kKernelColumns));
  Statement insert(*sql_, insert_sql("kernels", kKernelColumns, kKernelColumnCount));
  while (kernels.step()) {
    insert.reset();
    for (int column = 0; column < kKernelColumnCount; ++column) insert.bind_from(column, kernels);
    insert.step();
    added += sql_->changes();
  }
  Statement programs(*other.sql_, fmt::format("SELECT {} FROM programs", kProgramColumns));
  Statement keep(*sql_, insert_sql("programs", kProgramColumns, kProgramColumnCount));
  while (programs.step()) {
    keep.reset();
    for (int column = 0; column < kProgramColumnCount; ++column) keep.bind_from(column, programs);
    keep.step();
  }
  return added;
}

}  // namespace hone
