// The record database: every measured candidate and every final result, in one SQLite file (WAL) or on a PostgreSQL
// server, with the same tables. Several processes may write at once; one killed at any moment loses only the row it was
// writing.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/record.h"
#include "data/stored_kernel.h"

namespace hone {

class Sql;
class Statement;

struct DatabaseOptions {
  bool read_only = false;       // it must exist; nothing is changed
  int busy_timeout_ms = 30000;  // how long to wait for another writer
};

struct DatabaseInfo {
  std::string path;
  int schema_version = 0;
  int64_t file_bytes = 0;
  int64_t records = 0, kernel_records = 0, program_records = 0, verified = 0;
  int64_t programs = 0, kernels = 0;  // distinct fingerprints
  int64_t tuned = 0;
  std::map<std::string, int64_t> by_status, by_host;
  std::string oldest, newest;  // creation times of records; empty when there are none
};

struct MergeReport {
  int64_t records_added = 0, records_known = 0;
  int64_t tuned_added = 0, tuned_known = 0;
  int64_t kernels_added = 0;
  int64_t refused = 0;  // rows that make no sense, see problems()
};

// Conditions under which kernels were measured, and how many rows there are.
struct MeasuredUnder {
  std::string host;
  int threads = 1;
  std::string xla_version;
  int64_t records = 0;
};

// Not thread-safe, not to be carried over a fork(). Every function throws RunError when the engine cannot do its work
// (disk full, server gone, locked for longer than the time limit).
class Database {
 public:
  // Opens or creates, and brings an older schema up to date unless it is only read. `path` is a file or a URL,
  // postgresql://user@host/name. Throws Error when the file is no database, is another program's, or has a newer schema,
  // and when the server cannot be reached.
  static Database open(const std::string& path, const DatabaseOptions& options = {});
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  // Stores one row, durable against the death of this process when it returns. False if an equal row (everything but
  // the id) is already there. A NaN max_error is stored as infinity. Throws InternalError if problems(record).
  bool add(const Record& record);
  // All rows of a kernel, or of a whole program (scope "program"), under these conditions; oldest first.
  std::vector<Record> find_kernel(const std::string& kernel, const std::string& host, int threads,
                                  const std::string& xla_version) const;
  std::vector<Record> find_program(const std::string& program, const std::string& host, int threads,
                                   const std::string& xla_version) const;
  // The row with status "ok" and the highest lower bound of its ratio; nothing if there is none.
  std::optional<Record> best_kernel(const std::string& kernel, const std::string& host, int threads,
                                    const std::string& xla_version) const;
  std::optional<Record> best_program(const std::string& program, const std::string& host, int threads,
                                     const std::string& xla_version) const;

  // Stores a final result, replacing an earlier one with the same key. Throws InternalError if problems(tuned).
  void save_tuned(const Tuned& tuned);
  // `key` is a Tuned of which only the key fields matter.
  std::optional<Tuned> find_tuned(const Tuned& key) const;

  // Kernels with their modules, and the programs they come from (a data set's raw material). A file of an older schema
  // opened read-only has none.
  bool add_kernel(
      const StoredKernel& kernel);  // false if it is there already; throws InternalError if it makes no sense
  std::optional<StoredKernel> find_stored_kernel(const std::string& fingerprint,
                                                 int threads) const;  // Error if damaged
  // Of one program, or of all if the name is empty, in the order they came in; at most `limit` if that is above 0.
  std::vector<StoredKernelSummary> stored_kernels(int threads, const std::string& program = "",
                                                  int64_t limit = 0) const;
  void save_program(const StoredProgram& program);  // replaces one of the same name
  std::optional<StoredProgram> find_stored_program(const std::string& name) const;
  std::vector<MeasuredUnder> measured_under() const;  // most rows first

  DatabaseInfo info() const;
  // Measurements and results, not kernels' modules. One JSON object a line: {"table":"records",...} then
  // {"table":"tuned",...}. Infinite numbers become null.
  void export_jsonl(std::ostream& out) const;
  // Copies the rows of another database that are not here yet, in one transaction; of two results with the same key
  // the newer stays. The other file is not changed. `only`, unless empty: rows about these programs or kernels
  // (fingerprints), without kernels' modules.
  MergeReport merge(const std::string& path, const std::set<std::string>& only = {});
  // Everything wrong with the file, one line each (at most 100); empty when sound.
  std::vector<std::string> check() const;

 private:
  bool has_kernels() const;
  int64_t merge_kernels(const Database& other);
  Database(std::unique_ptr<Sql> sql, int64_t schema);
  std::vector<Record> find(const std::string& scope, const std::string& fingerprint, const std::string& host,
                           int threads, const std::string& xla_version, const char* rest) const;
  std::unique_ptr<Sql> sql_;
  int64_t schema_;                     // version of what is there
  std::unique_ptr<Statement> insert_;  // kept prepared between add() calls
};

}  // namespace hone
