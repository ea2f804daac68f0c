// Rows of a database that others wrote: any value in any column, as SQLite takes it, and all that reads them.
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/files.h"
#include "data/database.h"
#include "data/sql.h"
#include "data/sqlite.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

namespace {

constexpr const char* kTables[] = {"records", "tuned", "kernels", "programs", "machines"};
constexpr const char* kWords[] = {"kernel", "program", "ok", "host", "", "cold kernel", "codegen k=loop", "[]"};

// Values from bytes: a kind, then what it needs.
class Values {
 public:
  explicit Values(Bytes bytes) : bytes_(bytes) {}
  bool done() const { return bytes_.empty(); }
  int choice(int choices) { return take_choice(bytes_, choices); }
  SqlValue next() {
    switch (choice(7)) {
      case 0:
        return std::monostate();
      case 1:
        return int64_t{choice(4)};
      case 2:
        return number<int64_t>();
      case 3:
        return number<double>();
      case 4:
        return text();
      case 5:
        return SqlBlob{choice(2) == 0 ? text() : pack_bytes(text())};
      default:
        return std::string(kWords[choice(std::size(kWords))]);
    }
  }

 private:
  template <class T>
  T number() {
    T value{};
    const size_t size = std::min(bytes_.size(), sizeof value);
    std::memcpy(&value, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return value;
  }
  std::string text() {
    const size_t size = std::min<size_t>(bytes_.size(), choice(256));
    const std::string value = text_of(bytes_.first(std::min(size, bytes_.size())));
    bytes_ = bytes_.subspan(value.size());
    return value;
  }
  Bytes bytes_;
};

// A database whose tables are emptied for each input.
class Store {
 public:
  Store() : path_((folder_.path() / "rows.db").string()) {
    Database::open(path_);
    sql_ = open_sqlite(path_, false, 0);
    sql_->execute("PRAGMA synchronous = OFF");
    for (const char* table : kTables)
      columns_.push_back(sql_->integer(std::string("SELECT count(*) FROM pragma_table_info('") + table + "')"));
  }
  const std::string& path() const { return path_; }
  void fill(Values values) {
    Transaction transaction(*sql_);
    for (const char* table : kTables) sql_->execute(std::string("DELETE FROM ") + table);
    while (!values.done()) insert(values);
    transaction.commit();
  }

 private:
  void insert(Values& values) {
    const int table = values.choice(std::size(kTables));
    std::string sql = std::string("INSERT OR REPLACE INTO ") + kTables[table] + " VALUES (?";
    for (int64_t i = 1; i < columns_[table]; ++i) sql += ", ?";
    const auto statement = sql_->prepare(sql + ")");
    for (int64_t i = 0; i < columns_[table]; ++i) statement->bind(static_cast<int>(i), values.next());
    expect_errors([&] { statement->step(); });
  }

  TempDir folder_{"fuzz"};
  std::string path_;
  std::unique_ptr<Sql> sql_;
  std::vector<int64_t> columns_;
};

void read_all(const Database& database) {
  expect_errors([&] { database.info(); });
  expect_errors([&] { database.check(); });
  expect_errors([&] {
    std::ostringstream out;
    database.export_jsonl(out);
  });
  for (const char* word : kWords) {
    expect_errors([&] { database.find_kernel(word, "host", 1, "ok", "kernel"); });
    expect_errors([&] { database.best_program(word, "host", 1, "ok"); });
    expect_errors([&] {
      if (const auto kernel = database.find_stored_kernel(word, 1)) kernel_of(*kernel);
    });
    expect_errors([&] { database.find_stored_program(word); });
    expect_errors([&] { database.find_machine(word); });
  }
  expect_errors([&] { database.stored_kernels(1); });
  expect_errors([&] { database.measured_under(); });
}

}  // namespace

void database_rows(Bytes input) {
  static Store store, merged;
  store.fill(Values(input));
  merged.fill(Values({}));
  expect_errors([&] { read_all(Database::open(store.path(), {.read_only = true, .busy_timeout_ms = 0})); });
  expect_errors([&] {
    Database into = Database::open(merged.path(), {.busy_timeout_ms = 0});
    into.merge(store.path());
  });
}

}  // namespace hone::fuzz
