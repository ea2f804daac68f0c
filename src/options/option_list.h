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
  // Of the option on the command line. Null: JSON only. Empty: not shown by --help.
  const char* help = nullptr;
  // The option's names, "--tile,--old-name"; null: --NAME with dashes. Help shows only the first.
  const char* spelling = nullptr;
  bool switches_off = false;  // the option is a flag that sets a bool to false
};

}  // namespace hone::options
