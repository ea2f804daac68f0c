// PostgreSQL as an engine of the database: tables in a schema `hone` of the server's database, one connection.
//
// libpq is opened when the first URL is: it brings two dozen libraries along that no file needs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "data/sql.h"

namespace hone {

// "postgresql://user@host:5432/name" or "postgres://...", with any parameters libpq knows.
bool is_postgres_url(const std::string& path);
// The same URL for people and logs: what stands for a password is gone.
std::string without_password(const std::string& url);

// Connects. Throws Error when libpq is missing, the URL is malformed or the server does not let us in. A connection lost
// later is made again once, outside transactions, before a statement fails with RunError.
std::unique_ptr<Sql> open_postgres(const std::string& url, bool read_only, int busy_timeout_ms);

// PostgreSQL's text is UTF-8 without NUL. Bytes that are not become code points U+10FF00 to U+10FFFF, of which nothing
// else uses a single one; decode_text(encode_text(x)) is x for every x.
std::string encode_text(std::string_view bytes);
std::string decode_text(std::string_view text);

}  // namespace hone
