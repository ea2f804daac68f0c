// Results of earlier requests, as the database has them.
#pragma once

#include <optional>
#include <set>

#include "data/database.h"
#include "report/report.h"
#include "tune/program/program_tuner.h"

namespace hone::request {

// What a result belongs to: the program, the machine, and every option that it depends on. `kinds`: those that are decided,
// empty = all.
Tuned result_key(tune::Session& session, bool fusion, const std::set<DecisionKind>& kinds);

// The result the database has under this key, if it still beats default XLA in short duels.
std::optional<tune::ProgramResult> known_result(const Database& database, const Tuned& key, tune::Measurer& bench);

// Remembers a result under the key. One of a search that the user cut short is not final, and a program whose outputs prove
// nothing has none: these are left out.
void remember_result(Database& database, Tuned key, const report::TuneReport& report);

}  // namespace hone::request
