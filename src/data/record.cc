#include "data/record.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/stage.h"

namespace hone {
namespace {

// A timed ratio and its interval must be positive, finite and in order, up to rounding.
void check_interval(const char* what, double ratio, double low, double high, std::vector<std::string>& found) {
  if (!(std::isfinite(ratio) && ratio > 0)) {
    found.push_back(fmt::format("{} {} is not a positive number", what, ratio));
  } else if (!(low > 0 && std::isfinite(high) && low <= ratio * (1 + 1e-9) && ratio <= high * (1 + 1e-9))) {
    found.push_back(fmt::format("{} {} is outside its interval [{}, {}]", what, ratio, low, high));
  }
}

void check_not_negative(const char* what, double value, std::vector<std::string>& found) {
  if (!(std::isfinite(value) && value >= 0))
    found.push_back(fmt::format("{} {} is negative or not finite", what, value));
}

void check_positive(const char* what, double value, std::vector<std::string>& found) {
  if (!(std::isfinite(value) && value > 0)) found.push_back(fmt::format("{} {} is not a positive number", what, value));
}

void check_given(const char* what, const std::string& value, std::vector<std::string>& found) {
  if (value.empty()) found.push_back(fmt::format("{} is empty", what));
}

}  // namespace

const std::vector<std::string>& record_statuses() {
  static const std::vector<std::string> statuses = {"ok",      "mismatch",  "unverified", "compile_failed",
                                                    "crashed", "timed_out", "run_failed"};
  return statuses;
}

std::vector<std::string> problems(const Record& r) {
  std::vector<std::string> found;
  if (r.scope != "kernel" && r.scope != "cold kernel" && r.scope != "program")
    found.push_back("unknown scope '" + r.scope + "'");
  if (r.scope.ends_with("kernel")) check_given("kernel", r.kernel, found);
  if (r.scope == "program") check_given("program", r.program, found);
  const auto& statuses = record_statuses();
  if (std::find(statuses.begin(), statuses.end(), r.status) == statuses.end())
    found.push_back("unknown status '" + r.status + "'");
  if (r.status == "ok" || r.status == "unverified") {
    check_interval("ratio", r.ratio, r.ratio_low, r.ratio_high, found);
    check_positive("baseline_ns", r.baseline_ns, found);
    check_positive("candidate_ns", r.candidate_ns, found);
    if (r.rounds < 1) found.push_back("a ratio with no rounds");
  } else {
    for (double value : {r.ratio, r.ratio_low, r.ratio_high}) check_not_negative("ratio", value, found);
    check_not_negative("baseline_ns", r.baseline_ns, found);
    check_not_negative("candidate_ns", r.candidate_ns, found);
  }
  if (!stage_from_name(r.stage)) found.push_back("unknown stage '" + r.stage + "'");
  if (r.status == "ok" && !r.stage.empty()) found.push_back("status 'ok' with failed stage '" + r.stage + "'");
  if (r.verified != (r.status == "ok"))
    found.push_back(fmt::format("status '{}' and verified {} contradict each other", r.status, r.verified));
  check_not_negative("compile_ms", r.compile_ms, found);
  check_not_negative("core_ns", r.core_ns, found);
  check_not_negative("stolen_ms", r.stolen_ms, found);
  if (!(r.max_error >= 0)) found.push_back(fmt::format("max_error {} is negative or NaN", r.max_error));
  if (r.threads < 1) found.push_back(fmt::format("threads {} is below 1", r.threads));
  if (r.rounds < 0) found.push_back(fmt::format("rounds {} is negative", r.rounds));
  return found;
}

std::vector<std::string> problems(const Tuned& t) {
  std::vector<std::string> found;
  check_given("program", t.program, found);
  check_interval("speedup", t.speedup, t.speedup_low, t.speedup_high, found);
  check_positive("default_ns", t.default_ns, found);
  check_positive("tuned_ns", t.tuned_ns, found);
  check_not_negative("seconds", t.seconds, found);
  if (t.candidates < 0) found.push_back(fmt::format("candidates {} is negative", t.candidates));
  if (t.threads < 1) found.push_back(fmt::format("threads {} is below 1", t.threads));
  if (!nlohmann::json::accept(t.decisions)) found.push_back("decisions are not JSON");
  return found;
}

}  // namespace hone
