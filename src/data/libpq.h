// PostgreSQL's client library, loaded at the first URL: it loads two dozen libraries that a SQLite file does not need.
#pragma once

#include <postgresql/libpq-fe.h>

#include <memory>

namespace hone {

// The functions of libpq that Hone calls.
// clang-format off: one name per line
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

// Throws Error when the library is missing or too old.
const Libpq& libpq();

struct ClearPgResult {
  void operator()(PGresult* result) const { libpq().PQclear(result); }
};
using PgResult = std::unique_ptr<PGresult, ClearPgResult>;

}  // namespace hone
