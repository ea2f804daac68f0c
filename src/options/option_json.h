// Reading an options struct from a JSON object: every member by its name, members left out keep their defaults, anything
// else is an error that names it. The struct's own file lists its members in one for_each_option(options, visit).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"

namespace hone::options {

// `what` names the kind of option in errors ("model"); `visit_all(visit)` calls visit(name, member) for every member;
// `others` members of the object are read by the caller. Throws Error for another type, ill-typed and unknown members.
template <class VisitAll>
void read_options(const nlohmann::json& json, const std::string& what, VisitAll&& visit_all, size_t others = 0) {
  if (!json.is_object()) throw Error(what + " options are not an object");
  size_t known = others;
  visit_all([&](const char* name, auto& member) {
    const auto found = json.find(name);
    if (found == json.end()) return;
    ++known;
    try {
      found->get_to(member);
    } catch (const nlohmann::json::exception&) {
      throw Error(what + " option of a wrong type: " + name);
    }
  });
  if (known != json.size()) throw Error("unknown " + what + " option", json.dump().substr(0, 200));
}

}  // namespace hone::options
