// How help texts look, and how a command line that cannot be parsed is explained.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace hone::cli {

// CLI11's layout with lines of at most 120 columns. Of an option's long names only the first is shown: further ones are old
// spellings, which go on working.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
};

struct ParseFault {
  std::string message, hint;
};
// What is wrong with the command line that `app` has just failed to parse: an unknown command or option with the one it is
// near to, or CLI11's own words.
ParseFault explain(const CLI::App& app, const CLI::ParseError& error);

// The candidate that `word` is probably a misspelling of: few letters are different, or it begins with the word.
std::optional<std::string> nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace hone::cli
