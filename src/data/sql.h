// The interface of an SQL engine for the database, and conversions of C++ values to and from its statements.
//
// Statements are written once, in the common dialect of SQLite and PostgreSQL: parameters are `?`, conflicts are ON CONFLICT, and
// types are SQLite's TEXT, INTEGER (64 bits), REAL (a double) and BLOB. A table without an INTEGER PRIMARY KEY has a
// column `rowid` that numbers its rows in the order of insertion.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace hone {

struct SqlBlob {
  std::string bytes;
};
using SqlValue = std::variant<std::monostate, int64_t, double, std::string, SqlBlob>;  // monostate: NULL

// A statement of one engine. Parameters and columns count from 0.
class SqlStatement {
 public:
  virtual ~SqlStatement() = default;
  virtual void bind(int index, const SqlValue& value) = 0;
  virtual bool step() = 0;   // true while there is a row
  virtual void reset() = 0;  // ready to be bound and run again
  virtual SqlValue value(int column) const = 0;
};

// The program that the database belongs to.
struct SqlOwner {
  bool empty = true;  // has no tables
  bool ours = false;
  int64_t version = 0;  // of Hone's schema
};

// A connection. At most one statement has unread rows at any time. Every function throws Error if the database is
// invalid or damaged, RunError when the engine fails.
class Sql {
 public:
  virtual ~Sql() = default;
  virtual std::unique_ptr<SqlStatement> prepare(const std::string& sql) = 0;
  // Runs a statement and ignores its result.
  virtual void execute(const std::string& sql) = 0;
  virtual int64_t changes() const = 0;  // rows changed by the last insert, update or delete
  // A transaction that holds the write lock: two of them never overlap.
  virtual void begin() = 0;
  virtual void commit() = 0;
  virtual void roll_back() noexcept = 0;

  virtual SqlOwner owner() = 0;
  virtual void prepare_writing() {}  // called before the first write to Hone's or an empty database
  virtual void seal() {}             // one compact file that can be read where nothing can be written
  virtual void compact() = 0;        // gives what deleted rows took back to the system; outside of a transaction
  virtual void claim() = 0;          // marks an empty database as Hone's; inside a transaction, before any table
  virtual void set_version(int64_t version) = 0;
  virtual bool has_table(const std::string& name) = 0;
  virtual int64_t bytes() = 0;                       // size of the database
  virtual std::vector<std::string> damages() = 0;    // that the engine finds; at most 100
  const std::string& path() const { return path_; }  // for messages, without passwords

  int64_t integer(const std::string& sql);  // the first column of the first row; 0 or "" when there is none
  std::string text(const std::string& sql);

 protected:
  std::string path_;
};

// A prepared statement with its values.
class Statement {
 public:
  Statement(Sql& sql, const std::string& text) : statement_(sql.prepare(text)) {}

  void bind(int index, const std::string& value) { statement_->bind(index, value); }
  void bind(int index, double value) { statement_->bind(index, value); }
  void bind(int index, int64_t value) { statement_->bind(index, value); }
  void bind(int index, uint64_t value) { statement_->bind(index, static_cast<int64_t>(value)); }
  void bind(int index, int value) { statement_->bind(index, static_cast<int64_t>(value)); }
  void bind(int index, bool value) { statement_->bind(index, static_cast<int64_t>(value)); }
  void bind_blob(int index, const std::string& bytes) { statement_->bind(index, SqlBlob{bytes}); }
  // The value of the same column of another statement's row.
  void bind_from(int index, const Statement& row) { statement_->bind(index, row.statement_->value(index)); }

  bool step() { return statement_->step(); }
  void reset() { statement_->reset(); }

  // A value of another type is converted if possible; NULL is "" or 0.
  void column(int index, std::string& value) const;  // of a text or a blob
  void column(int index, double& value) const;
  void column(int index, int64_t& value) const;
  void column(int index, uint64_t& value) const;
  void column(int index, int& value) const;
  void column(int index, bool& value) const;

 private:
  std::unique_ptr<SqlStatement> statement_;
};

// Rolled back unless commit() is called.
class Transaction {
 public:
  explicit Transaction(Sql& sql) : sql_(sql) { sql_.begin(); }
  ~Transaction() {
    if (open_) sql_.roll_back();
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    sql_.commit();
    open_ = false;
  }

 private:
  Sql& sql_;
  bool open_ = true;
};

}  // namespace hone
