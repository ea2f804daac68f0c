// SQLite as an engine of the database: one file, with a write-ahead log.
#pragma once

#include <memory>
#include <string>

#include "data/sql.h"

namespace hone {

// Throws Error if the file cannot be opened. SQLite reads it lazily: owner() finds out whether it is
// a database. With read_only the file must exist.
std::unique_ptr<Sql> open_sqlite(const std::string& path, bool read_only, int busy_timeout_ms);

}  // namespace hone
