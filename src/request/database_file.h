// The location of a request's database.
#pragma once

#include <string>

#include "data/database.h"

namespace hone::request {

// `given` (--db: a file or a PostgreSQL URL), or if empty hone/hone.db in the user's data folder. Throws Error without
// a home folder.
std::string database_path(const std::string& given);

Database open_database(const std::string& given);  // created, with its folder, if there is none
// Read only unless `writable`; throws Error when there is none.
Database open_existing_database(const std::string& given, bool writable = false);

}  // namespace hone::request
