#include "cli/help.h"

#include <algorithm>
#include <limits>
#include <sstream>

namespace hone::cli {

namespace {

constexpr size_t kNameColumns = 30, kColumns = 120;

// Letters to insert, delete, replace or swap with their neighbour (the restricted distance of Damerau and Levenshtein).
size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

std::string shown_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? "" : "--" + option.get_lnames().front();
}

std::vector<std::string> shown_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty() && !option->get_lnames().empty()) names.push_back(shown_name(*option));
  return names;
}

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

std::string calls(const CLI::App& app) {
  return app.get_parent() ? calls(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::optional<std::string> near = nearest(word, candidates);
  return near ? ", did you mean '" + *near + "'?" : "";
}

// The command that was reached before parsing failed.
const CLI::App& reached(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : reached(*parsed.front());
}

}  // namespace

HelpFormatter::HelpFormatter() {
  column_width(kNameColumns);
  label("TEXT", "NAME");
  label("INT", "N");
  label("UINT", "N");
  label("FLOAT", "X");
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  return CLI::detail::find_and_replace(Formatter::make_help(app, std::move(name), mode), "\n\n\n", "\n\n");
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::istringstream words(make_option_desc(option));
  // A list is given as one word.
  const std::string value = CLI::detail::find_and_replace(make_option_opts(option), "LIST ...", "LIST");
  std::string text = "  " + make_option_name(option, is_positional) + value;
  if (text.size() + 1 >= kNameColumns) text += "\n";
  size_t column = text.back() == '\n' ? 0 : text.size();
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (!first && column + 1 + word.size() > kColumns) {
      text += "\n";
      column = 0;
    }
    const size_t pad = column < kNameColumns ? kNameColumns - column : 1;
    text += std::string(pad, ' ') + word;
    column += pad + word.size();
  }
  return text + "\n";
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  if (is_positional) return option->get_name(true, false);
  std::string name;
  for (const std::string& letter : option->get_snames()) name += "-" + letter + ",";
  return name + shown_name(*option);
}

std::optional<std::string> nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  size_t least = std::numeric_limits<size_t>::max();
  for (const std::string& candidate : candidates) {
    const bool begins = word.size() >= 3 && candidate.starts_with(word);
    const size_t distance = begins ? 1 : edits(word, candidate);
    if (distance > std::max<size_t>(1, std::min(word.size(), candidate.size()) / 3) || distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

ParseFault explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = reached(app);
  const std::string hint = "see " + calls(command) + " --help";
  const std::vector<std::string> subcommands = subcommands_of(command);
  std::string argument;  // the first that no option took
  for (const std::string& word : command.remaining()) {
    if (word.size() > 1 && word.front() == '-') {
      const std::string name = word.substr(0, word.find('='));
      return {"unknown option '" + name + "'" + did_you_mean(name, shown_options(command)), hint};
    }
    if (argument.empty()) argument = word;
  }
  const bool needs_command = command.get_require_subcommand_min() > 0;
  if (needs_command && !argument.empty())
    return {"unknown command '" + argument + "'" + did_you_mean(argument, subcommands), hint};
  if (needs_command && command.get_subcommands().empty()) return {"no command is given", hint};
  if (!argument.empty()) return {"unexpected argument '" + argument + "'", hint};
  return {error.what(), hint};
}

}  // namespace hone::cli
