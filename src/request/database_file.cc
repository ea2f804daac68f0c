#include "request/database_file.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "data/postgres.h"

namespace hone::request {

namespace fs = std::filesystem;

std::string database_path(const std::string& given) {
  if (!given.empty()) return given;
  const fs::path folder = user_data_folder();
  if (folder.empty()) throw Error("there is no home folder for the database", "--db", "name a file with --db");
  return (folder / "hone.db").string();
}

Database open_database(const std::string& given) {
  const std::string path = database_path(given);
  if (is_postgres_url(path)) return Database::open(path);
  std::error_code failed;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, failed);
  if (failed)
    throw Error("cannot make the database's folder: " + failed.message(), folder.string(), "name a file with --db");
  return Database::open(path);
}

Database open_existing_database(const std::string& given, bool writable) {
  const std::string path = database_path(given);
  if (!is_postgres_url(path) && !fs::exists(path))
    throw Error("there is no database", path, "hone tune makes one, --db names another");
  return Database::open(path, {.read_only = !writable});
}

}  // namespace hone::request
