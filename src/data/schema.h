// The tables of the record database: creating, migrating, writing and reading them.
//
// Version 1: records and tuned. 2: kernels and programs as well. 3: records have the columns `stage` and `finished`.
// 4: also `baseline` and `output_dims`. Before, the note held the content of the last three. 5: machines.
// 6: records also have `core_ns` and `stolen_ms`.
#pragma once

#include <cstdint>
#include <string>

#include "data/record.h"
#include "data/sql.h"

namespace hone {

inline constexpr int kSchemaVersion = 6;
inline constexpr const char* kTunedKey = "program, host, threads, weights, xla_version, options";

// The schema's version, 0 if there is none; throws Error for a database of another program or with a newer schema.
int64_t schema_of(Sql& sql);
// Migrates any older schema (0: empty) to the present one; inside a transaction.
void migrate(Sql& sql, int64_t version);
void create_kernel_tables(Sql& sql);  // parts of migrate(), in database_kernels.cc
void create_machine_table(Sql& sql);

// A hash of all fields but the id. A row of an older schema has the hash of a row whose newer fields are empty.
std::string content_key(const Record& record);

// A statement that returns records of a database of this schema version for read_record(): id, the fields, content_key.
// `rest` follows the table's name. An older database need not be migrated.
std::string select_records(int64_t version, const std::string& rest);
// Converts decisions of versions before 0.2, and notes of older schemas, to the present form.
Record read_record(const Statement& row, int64_t version);
Record read_record_as_stored(const Statement& row);
std::string read_content_key(const Statement& row);
std::string insert_record_sql();
bool insert_record(Sql& sql, Statement& insert, const Record& record);  // false if an equal row exists

std::string select_tuned(const std::string& rest);
Tuned read_tuned(const Statement& row);
std::string save_tuned_sql(bool always);  // newer results replace older ones; `always`: replaces any
bool insert_tuned(Sql& sql, Statement& insert, const Tuned& tuned);

}  // namespace hone
