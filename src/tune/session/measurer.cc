#include "tune/session/measurer.h"

#include <array>

#include "base/error.h"

namespace hone::tune {

namespace {
constexpr std::array<const char*, 7> kOutcomes = {"ok",      "mismatch",  "unverified", "compile_failed",
                                                  "crashed", "timed_out", "run_failed"};
}

const char* outcome_name(Outcome outcome) { return kOutcomes.at(static_cast<size_t>(outcome)); }

Outcome outcome_from_name(const std::string& name) {
  for (size_t i = 0; i < kOutcomes.size(); ++i)
    if (name == kOutcomes[i]) return static_cast<Outcome>(i);
  throw Error("unknown outcome '" + name + "'");
}

}  // namespace hone::tune
