// An options struct as a JSON object, by its list (option_list.h). Reading: missing members keep their values; an unknown
// member is an error that names it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "options/option_list.h"

namespace hone::options {

template <class O>
nlohmann::json write_options(const O& options) {
  nlohmann::json json;
  for_each_option(ListOf<O>(), [&](const OptionRow& row, auto member) { json[row.name] = options.*member; });
  return json;
}

// `what` is the kind of option in errors ("model"); the caller reads `others` members of the object. Throws Error if it is not
// an object, and for ill-typed and unknown members.
template <class O>
void read_options(const nlohmann::json& json, const std::string& what, O& options, size_t others = 0) {
  if (!json.is_object()) throw Error(what + " options are not an object");
  size_t known = others;
  for_each_option(ListOf<O>(), [&](const OptionRow& row, auto member) {
    const auto found = json.find(row.name);
    if (found == json.end()) return;
    ++known;
    try {
      found->get_to(options.*member);
    } catch (const nlohmann::json::exception&) {
      throw Error(what + " option of a wrong type: " + row.name);
    }
  });
  if (known != json.size()) throw Error("unknown " + what + " option", json.dump().substr(0, 200));
}

}  // namespace hone::options
