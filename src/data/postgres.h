// PostgreSQL as an engine of the database: tables in a schema `hone` of the server's database, one connection.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/sql.h"

namespace hone {

// "postgresql://user@host:5432/name" or "postgres://...", with any parameters libpq knows.
bool is_postgres_url(const std::string& path);
// Where a URL has passwords, in its authority or its parameters, in ascending order; none in what is no URL of a server.
struct PasswordPlace {
  size_t first = 0, length = 0;
};
std::vector<PasswordPlace> password_places(std::string_view url);
// The URL without passwords, for messages and logs.
std::string without_password(const std::string& url);

// Connects. Throws Error when libpq is missing, the URL is malformed or the server refuses the connection. A connection that
// is lost later is restored once, outside transactions, before a statement fails with RunError.
std::unique_ptr<Sql> open_postgres(const std::string& url, bool read_only, int busy_timeout_ms);

// PostgreSQL's text is UTF-8 without NUL. Other bytes become code points U+10FF00 to U+10FFFF, and so do the bytes of those
// code points themselves; decode_text(encode_text(x)) is x for every x.
std::string encode_text(std::string_view bytes);
std::string decode_text(std::string_view text);

}  // namespace hone
