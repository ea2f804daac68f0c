// Reads report.json of a package.
#include <fmt/core.h>

#include <type_traits>

#include "base/error.h"
#include "report/report.h"
#include "report/report_fields.h"

namespace hone::report {

namespace {

using nlohmann::json;

// Reads the fields it visits (report_fields.h) from one object of the report. Throws Error that names a wrong field.
class FieldReader {
 public:
  FieldReader(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object())
      throw Error("the report is damaged: an object is missing", where_, "tune the program again");
  }
  static constexpr bool reads() { return true; }

  template <class T>
  void need(const char* name, T& into) {
    if (!object_.contains(name))
      throw Error(fmt::format("the report has no '{}'", name), where_, "tune the program again");
    take(name, into);
  }
  template <class T>
  void maybe(const char* name, T& into) {
    if (object_.contains(name)) take(name, into);
  }
  void number(const char* name, double& into, double if_null) {
    if (object_.contains(name) && object_[name].is_null())
      into = if_null;
    else
      maybe(name, into);
  }
  void given(const char* name, std::string& into) { maybe(name, into); }
  void interval(const char* name, double& low, double& high) {
    if (!object_.contains(name)) return;
    const json& pair = object_[name];
    if (!pair.is_array() || pair.size() != 2) wrong(name);
    for (int i : {0, 1})
      if (!pair[i].is_number() && !pair[i].is_null()) wrong(name);
    low = pair[0].is_null() ? 0 : pair[0].get<double>();
    high = pair[1].is_null() ? 0 : pair[1].get<double>();
  }
  void outcome(const char* name, tune::Outcome& into) {
    std::string text;
    need(name, text);
    into = tune::outcome_from_name(text);
  }
  void kind(const char* name, DecisionKind& into) {
    std::string text;
    need(name, text);
    into = decision_kind_from_name(text);
  }
  void target(const char* name, tune::Target& into) {
    if (!object_.contains(name)) return;
    FieldReader reader(object_[name], fmt::format("{}: {}", where_, name));
    visit_target(reader, into);
  }
  template <class T, class Visit>
  void part(const char* name, T& into, Visit&& visit) {
    if (!object_.contains(name)) return;
    FieldReader part(object_[name], fmt::format("{}: {}", where_, name));
    visit(part, into);
  }
  template <class T, class Visit>
  void list(const char* name, std::vector<T>& into, Visit&& visit) {
    if (!object_.contains(name)) return;
    if (!object_[name].is_array()) wrong(name);
    for (const json& row : object_[name]) {
      FieldReader item(row, fmt::format("{}: {} {}", where_, name, into.size()));
      visit(item, into.emplace_back());
    }
  }
  template <class Make>
  void derived(const char*, Make&&) {}

 private:
  template <class T>
  void take(const char* name, T& into) const {
    const json& value = object_[name];
    constexpr bool is_number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
    if (std::is_same_v<T, bool> ? !value.is_boolean() : is_number && !value.is_number()) wrong(name);
    try {
      into = value.get<T>();
    } catch (const json::exception&) {
      wrong(name);
    }
  }
  [[noreturn]] void wrong(const char* name) const {
    throw Error(fmt::format("the field '{}' is of another type", name), where_, "tune the program again");
  }

  const json& object_;
  std::string where_;
};

}  // namespace

TuneReport report_from_json(const json& object, const std::string& where) {
  TuneReport report;
  FieldReader reader(object, where);
  visit_summary(reader, report);
  visit_details(reader, report);
  for (size_t i = 0; i < report.timeline.size(); ++i)
    if (report.timeline[i].against >= static_cast<int>(i))
      throw Error(fmt::format("candidate {} of the timeline is compared with a later one", i), where);
  return report;
}

}  // namespace hone::report
