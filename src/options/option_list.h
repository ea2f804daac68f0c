// Every options struct lists its members once, beside its definition:
//
//   template <class Visit>
//   void for_each_option(ListOf<XOptions>, Visit&& visit) { visit({"hidden", "width of ..."}, &XOptions::hidden); ... }
//
// Writing and reading JSON (option_json.h) and the command line (cli/struct_options.h) visit that list.
#pragma once

namespace hone::options {

template <class O>
struct ListOf {};

struct OptionRow {
  const char* name;  // in JSON
  // Of the option on the command line. Null: JSON only. Empty: an option that --help does not show.
  const char* help = nullptr;
  // Of that option, "--tile,--old-name"; null: --NAME with dashes. Only the first name is shown in help.
  const char* spelling = nullptr;
  bool switches_off = false;  // the option is a flag that makes a bool false
};

}  // namespace hone::options
