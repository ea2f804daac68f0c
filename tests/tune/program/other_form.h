// For tests of rewrites: programs of one operation that has one other form.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "graph/decision_family.h"
#include "tests/tune/real_worker.h"
#include "tune/session/session.h"

namespace hone::tune {

inline constexpr Duel kOnce{.min_rounds = 1, .max_rounds = 1, .budget_ms = 1, .limit_s = 120};

inline std::vector<Dimension> dimensions_of(Session& session, const std::string& program, FamilyId id) {
  session.load(program, "one");
  std::vector<Dimension> found = session.lower({}, false).dimensions;
  std::erase_if(found, [&](const Dimension& d) { return !belongs_to(id, d.kind, d.key); });
  return found;
}

inline bool offers(Session& session, const std::string& program, FamilyId id) {
  return !dimensions_of(session, program, id).empty();
}

// The one other form that the program's one operation has.
inline Decisions other_form(Session& session, const std::string& program, FamilyId id) {
  const std::vector<Dimension> found = dimensions_of(session, program, id);
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].options.size() == 2);
  return {{DecisionKind::Rewrite, found[0].key, found[0].options[1]}};
}

// Measures it, and returns how it lowers.
inline std::string check_other_form(Session& session, const std::string& program, FamilyId id) {
  const Decisions decisions = other_form(session, program, id);
  const Measurement m = session.measure_program(decisions, {}, kOnce);
  INFO(m.note);
  CHECK(m.ok());
  return session.lower(decisions, false).hlo;
}

}  // namespace hone::tune
