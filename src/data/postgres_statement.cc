#include <fmt/core.h>

#include <charconv>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "data/postgres.h"
#include "data/postgres_connection.h"

namespace hone {

namespace {

// Object identifiers of PostgreSQL's pg_type.dat.
enum Type : unsigned {
  kBool = 16,
  kBytes = 17,
  kInt8 = 20,
  kInt2 = 21,
  kInt4 = 23,
  kFloat4 = 700,
  kFloat8 = 701,
  kNumeric = 1700,
};

}  // namespace

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
  if (!sent && !postgres_.lost()) postgres_.fail(nullptr);  // a lost connection is noticed when the first row is read
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
  PgResult failed = std::move(row_);
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

// Discards the remaining rows, so that the connection is free for the next statement.
void PostgresStatement::drain() {
  while (state_ == State::Reading) {
    row_.reset(postgres_.pq().PQgetResult(postgres_.connection()));
    if (row_ == nullptr || postgres_.copies(row_.get())) break;
  }
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

}  // namespace hone
