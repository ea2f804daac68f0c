// A thin owner around SQLite's C interface: errors become exceptions, columns become C++ values.
#pragma once

#include <cstdint>
#include <string>

struct sqlite3;
struct sqlite3_stmt;

namespace hone {

class Sqlite {
 public:
  // Throws Error if the file cannot be opened. SQLite reads it lazily: whether it is a database shows later.
  Sqlite(const std::string& path, bool read_only, int busy_timeout_ms);
  ~Sqlite();
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  // Runs statements that return nothing of interest. Throws like Statement::step.
  void execute(const std::string& sql);
  // Switches the file to write-ahead logging, if it is not there yet.
  void use_wal();
  // The first column of the first row; 0 or "" when there is none.
  int64_t integer(const std::string& sql);
  std::string text(const std::string& sql);
  int64_t changes() const;  // rows changed by the last insert, update or delete
  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_; }
  // Throws what `code` means: Error for a file that is not a (sound) database, RunError for the rest.
  [[noreturn]] void fail(int code) const;

 private:
  std::string path_;
  int busy_timeout_ms_;
  sqlite3* handle_ = nullptr;
};

// A prepared statement; binds and columns count from 0.
class Statement {
 public:
  Statement(Sqlite& sqlite, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int index, const std::string& value);
  void bind(int index, double value);
  void bind(int index, int64_t value);
  void bind(int index, uint64_t value) { bind(index, static_cast<int64_t>(value)); }
  void bind(int index, int value) { bind(index, static_cast<int64_t>(value)); }
  void bind(int index, bool value) { bind(index, static_cast<int64_t>(value)); }
  void bind_blob(int index, const std::string& bytes);  // read back as a string
  void bind_from(int index, const Statement& row);      // the value of the same column of another statement's row

  bool step();   // true while there is a row
  void reset();  // ready to be bound and run again

  void column(int index, std::string& value) const;
  void column(int index, double& value) const;
  void column(int index, int64_t& value) const;
  void column(int index, uint64_t& value) const;
  void column(int index, int& value) const;
  void column(int index, bool& value) const;

 private:
  Sqlite& sqlite_;
  sqlite3_stmt* statement_ = nullptr;
};

// Holds the write lock from construction; undone unless commit() is reached.
class Transaction {
 public:
  explicit Transaction(Sqlite& sqlite);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Sqlite& sqlite_;
  bool open_ = true;
};

}  // namespace hone
