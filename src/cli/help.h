// The layout of help texts, and messages for a command line that cannot be parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace hone::cli {

// CLI11's layout with lines of at most 120 columns. Of an option's long names only the first is shown; the others are
// old spellings, which still work.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
};

// Options of this group, which make what comes with hone, are shown by --help-all alone.
inline constexpr char kMaintainers[] = "For maintainers";

struct ParseFault {
  std::string message, hint;
};
// The error in the command line that `app` failed to parse: an unknown command or option with the most similar known
// one, or CLI11's own message.
ParseFault explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace hone::cli
