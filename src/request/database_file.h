// Where the database of a request lies.
#pragma once

#include <string>

#include "data/database.h"

namespace hone::request {

// `given` (--db: a file or a PostgreSQL URL), or hone/hone.db in the user's data folder where it is empty. Throws Error
// without a home folder.
std::string database_path(const std::string& given);

Database open_database(const std::string& given);           // made, with its folder, where there is none
Database open_existing_database(const std::string& given);  // read only; throws Error when there is none

}  // namespace hone::request
