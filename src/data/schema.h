// The tables of the record database: how they are made, brought up to date, written and read.
//
// Version 1: records and tuned. 2: kernels and programs as well. 3: records have the columns `stage` and `finished`.
// 4: and `baseline` and `output_dims`. What these columns say stood in the note before.
#pragma once

#include <cstdint>
#include <string>

#include "data/record.h"
#include "data/sql.h"

namespace hone {

inline constexpr int kSchemaVersion = 4;
inline constexpr const char* kTunedKey = "program, host, threads, weights, xla_version, options";

// The schema's version, 0 where there is none yet; throws Error for what is not ours or newer.
int64_t schema_of(Sql& sql);
// Brings a place of any older schema (0: empty) to ours; inside a transaction.
void migrate(Sql& sql, int64_t version);
void create_kernel_tables(Sql& sql);  // a part of it, in stored_kernel.cc

// A hash over all fields but the id: equal for rows that say the same. A row of an older schema has the same as one in
// which the newer fields say nothing.
std::string content_key(const Record& record);

// Statements that return records of a place with this schema, for read_record(): id, the fields, content_key. `rest`
// follows the table. An older place need not be migrated.
std::string select_records(int64_t version, const std::string& rest);
// In today's terms: decisions of versions before 0.2, and what older schemas said in the note.
Record read_record(const Statement& row, int64_t version);
Record read_record_as_stored(const Statement& row);
std::string read_content_key(const Statement& row);
std::string insert_record_sql();
bool insert_record(Sql& sql, Statement& insert, const Record& record);  // false if an equal one is there

std::string select_tuned(const std::string& rest);
Tuned read_tuned(const Statement& row);
std::string save_tuned_sql(bool always);  // newer results replace older ones; `always`: whatever is there
bool insert_tuned(Sql& sql, Statement& insert, const Tuned& tuned);

}  // namespace hone
