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
  bool read_only = false;       // the database must exist and is not changed
  int busy_timeout_ms = 30000;  // time to wait for another writer
};

struct DatabaseInfo {
  std::string path;
  int schema_version = 0;
  int64_t file_bytes = 0;
  int64_t records = 0, kernel_records = 0, program_records = 0, verified = 0;
  int64_t programs = 0, kernels = 0;  // distinct fingerprints
  int64_t tuned = 0;
  std::map<std::string, int64_t> by_status, by_host;
  std::string oldest, newest;  // creation times of records; empty without records
};

struct CompactReport {
  int64_t records_removed = 0;
  int64_t bytes_before = 0, bytes_after = 0;
};

struct MergeReport {
  int64_t records_added = 0, records_known = 0;
  int64_t tuned_added = 0, tuned_known = 0;
  int64_t kernels_added = 0;
  int64_t refused = 0;  // invalid rows, see problems()
};

// Conditions under which kernels were measured, and the number of rows.
struct MeasuredUnder {
  std::string host;
  int threads = 1;
  std::string xla_version;
  int64_t records = 0;
};

// Not thread-safe, not usable after a fork(). Every function throws RunError when the engine fails (disk full, server
// unreachable, locked for longer than the time limit).
class Database {
 public:
  // Opens or creates a database, and migrates an older schema unless read_only. `path` is a file or a URL,
  // postgresql://user@host/name. Throws Error when the file is not a database, belongs to another program, or has a newer
  // schema, and when the server cannot be reached.
  static Database open(const std::string& path, const DatabaseOptions& options = {});
  // Checks that an existing database is writable, in a transaction that is rolled back. Throws the errors of open() and of
  // the first write.
  static void try_writing(const std::string& path, int busy_timeout_ms = 2000);
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  // Makes it one compact file that can be read from a folder without write permission; later writes undo this.
  void seal();

  // Stores one row, which then survives the end of this process. False if an equal row (except for the id) exists. A NaN
  // max_error is stored as infinity. Throws InternalError if problems(record).
  bool add(const Record& record);
  // All rows of a kernel, or of a whole program (scope "program"), under these conditions; oldest first. A kernel's scope is "kernel",
  // or "cold kernel" for its times with inputs out of the caches.
  std::vector<Record> find_kernel(const std::string& kernel, const std::string& host, int threads,
                                  const std::string& xla_version, const char* scope = "kernel") const;
  std::vector<Record> find_program(const std::string& program, const std::string& host, int threads,
                                   const std::string& xla_version) const;
  // The row with status "ok" and the highest lower bound of its ratio; nullopt if there is none.
  std::optional<Record> best_kernel(const std::string& kernel, const std::string& host, int threads,
                                    const std::string& xla_version) const;
  std::optional<Record> best_program(const std::string& program, const std::string& host, int threads,
                                     const std::string& xla_version) const;

  // Stores a final result, replacing an earlier one with the same key. Throws InternalError if problems(tuned).
  void save_tuned(const Tuned& tuned);
  // Only the key fields of `key` are used.
  std::optional<Tuned> find_tuned(const Tuned& key) const;

  // Kernels with their modules and the programs they come from, for data sets. A file of an older schema opened read-only
  // has none.
  bool add_kernel(const StoredKernel& kernel);  // false if it exists already; throws InternalError if it is invalid
  std::optional<StoredKernel> find_stored_kernel(const std::string& fingerprint,
                                                 int threads) const;  // Error if damaged
  // Of one program, or of all if the name is empty, in the order of insertion; at most `limit` if that is above 0.
  std::vector<StoredKernelSummary> stored_kernels(int threads, const std::string& program = "",
                                                  int64_t limit = 0) const;
  void save_program(const StoredProgram& program);  // replaces a program of the same name
  std::optional<StoredProgram> find_stored_program(const std::string& name) const;
  // By descending number of rows of the scope.
  std::vector<MeasuredUnder> measured_under(const char* scope = "kernel") const;

  // What is known of the machine that a host's rows are of: one JSON object (features/machine_record.h). Replaces what there is.
  void save_machine(const std::string& host, const std::string& record);
  std::optional<std::string> find_machine(const std::string& host) const;

  DatabaseInfo info() const;
  // Measurements and results without the kernels' modules. One JSON object per line: {"table":"records",...} then
  // {"table":"tuned",...}. Infinite numbers become null.
  void export_jsonl(std::ostream& out) const;
  // Copies the missing rows of another database in one transaction; of two results with the same key the newer is kept.
  // The other file is not changed. `only`, unless empty: only rows of these programs or kernels (fingerprints), without
  // kernels' modules.
  MergeReport merge(const std::string& path, const std::set<std::string>& only = {});
  // Removes the older ones of equal candidates' rows, so that at most `keep` of each are left (0 = removes none), and gives the room of
  // removed rows back to the system. Rows of equal candidates differ in nothing but seeds, what was measured, and when. Results
  // (tuned), kernels and programs stay. Other processes may read and write meanwhile, except while the file is made anew.
  CompactReport compact(int64_t keep = 0);
  // The faults of the database, one line each (at most 100); empty if there are none.
  std::vector<std::string> check() const;

 private:
  bool has_kernels() const;
  void merge_machines(const Database& other);
  int64_t merge_kernels(const Database& other);
  Database(std::unique_ptr<Sql> sql, int64_t schema);
  std::vector<Record> find(const std::string& scope, const std::string& fingerprint, const std::string& host,
                           int threads, const std::string& xla_version, const char* rest) const;
  std::unique_ptr<Sql> sql_;
  int64_t schema_;                     // version of the stored schema
  std::unique_ptr<Statement> insert_;  // kept prepared between add() calls
};

}  // namespace hone
