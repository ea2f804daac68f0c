// A connection to a PostgreSQL server and its statements, behind the interfaces of sql.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/libpq.h"
#include "data/sql.h"

namespace hone {

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
  void compact() override;
  int64_t bytes() override;
  std::vector<std::string> damages() override { return {}; }  // the server checks its own files

  // For statements.
  const Libpq& pq() const { return pq_; }
  PGconn* connection() const { return connection_; }
  void count_changes(int64_t rows) { changes_ = rows; }
  bool lost() const { return pq_.PQstatus(connection_) != CONNECTION_OK; }
  // Whether a failure means that the server is gone. PQstatus may not show yet that a connection broke during a write, but
  // errors that libpq itself reports have no SQLSTATE.
  bool gone(const PGresult* failed) const {
    const std::string state = sqlstate(failed);
    return lost() || (failed != nullptr && state.empty()) || state.rfind("57P", 0) == 0;
  }
  // Whether an answer begins a copy, which Hone asks for nowhere: PQgetResult then returns one after the other, without end.
  bool copies(const PGresult* result) const {
    const ExecStatusType status = pq_.PQresultStatus(result);
    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
  }
  // Replaces a lost connection; true if the statement can be sent again.
  bool connect_again();
  [[noreturn]] void fail(const PGresult* result) const;

 private:
  void set_up();
  PgResult answer(const std::string& sql) const;
  bool fine(const PGresult* result) const;
  void execute_once(const std::string& sql);  // on this connection, lost or not
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

// `sql` is in PostgreSQL's dialect.
class PostgresStatement : public SqlStatement {
 public:
  PostgresStatement(Postgres& postgres, std::string sql) : postgres_(postgres), sql_(std::move(sql)) {}
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
  PgResult row_;
};

}  // namespace hone
