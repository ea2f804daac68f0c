// The command line's options for the members of an options struct, from the struct's own list (options/option_list.h).
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "options/model_options.h"
#include "options/option_list.h"

namespace hone::cli {

// "2048,2048"; "none" = nothing. Throws CLI::ValidationError that names the option.
std::vector<int64_t> parse_widths(const std::string& text, const std::string& option);

// "--name-with-dashes" or the row's own spelling.
std::string option_names(const options::OptionRow& row);

// One option per row that has a help text, and its value from the command line.
template <class O>
class StructOptions {
 public:
  StructOptions() = default;
  StructOptions(const StructOptions&) = delete;  // the parser refers to it
  StructOptions& operator=(const StructOptions&) = delete;

  // Numbers and words from `defaults` are shown as defaults unless the help text names one itself.
  // This object must outlive the app's parsing.
  void add_to(CLI::App& app, const O& defaults = {}) {
    for_each_option(options::ListOf<O>(), [&](const options::OptionRow& row, auto member) {
      if (!row.help) return;
      CLI::Option* option = add(app, row, given_.*member, help_of(row, defaults.*member));
      if (*row.help == 0) option->group("");
      options_[row.name] = option;
    });
  }

  bool was_given(const char* name) const {
    const auto option = options_.find(name);
    return option != options_.end() && option->second->count() > 0;
  }
  // Replaces the members that were given on the command line.
  void put_into(O& into) const {
    for_each_option(options::ListOf<O>(), [&](const options::OptionRow& row, auto member) {
      if (was_given(row.name)) into.*member = given_.*member;
    });
  }

 private:
  template <class T>
  static std::string help_of(const options::OptionRow& row, const T& value) {
    std::string help = row.help;
    if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T> || std::is_same_v<T, std::vector<std::string>>) {
      return help;
    } else {
      if (help.empty() || help.find("(default") != std::string::npos) return help;
      if constexpr (std::is_same_v<T, std::vector<int64_t>>)
        return help + fmt::format(" (default {})", fmt::join(value, ","));
      else
        return help + fmt::format(" (default {})", value);
    }
  }

  template <class T>
  static CLI::Option* add(CLI::App& app, const options::OptionRow& row, T& into, const std::string& help) {
    const std::string names = option_names(row);
    if constexpr (std::is_same_v<T, bool>) {
      return app.add_flag_callback(names, [&into, value = !row.switches_off] { into = value; }, help);
    } else if constexpr (std::is_same_v<T, options::Join>) {
      return app
          .add_option_function<std::string>(
              names, [&into](const std::string& name) { into = options::join_from_name(name); }, help)
          ->check([](const std::string& name) {
            try {
              options::join_from_name(name);
              return std::string();
            } catch (const Error& e) {
              return std::string(e.what()) + ", " + e.hint();
            }
          })
          ->type_name("WHERE");
    } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
      return app
          .add_option_function<std::string>(
              names, [&into, names](const std::string& text) { into = parse_widths(text, names); }, help)
          ->type_name("LIST");
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      return app.add_option(names, into, help)->delimiter(',')->type_name("LIST");
    } else {
      return app.add_option(names, into, help);
    }
  }

  O given_;
  std::map<std::string, CLI::Option*> options_;
};

}  // namespace hone::cli
