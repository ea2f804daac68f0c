#include "cli/help.h"

#include <algorithm>
#include <sstream>

#include "base/suggest.h"
#include "cli/command_tree.h"

namespace hone::cli {

namespace {

constexpr size_t kNameColumns = 30, kColumns = 120;

std::vector<std::string> shown_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty() && !option->get_lnames().empty()) names.push_back(shown_name(*option));
  return names;
}

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!sub->get_group().empty()) names.push_back(sub->get_name());
  return names;
}

std::string calls(const CLI::App& app) {
  return app.get_parent() ? calls(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

// The command that was reached before parsing failed.
const CLI::App& reached(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : reached(*parsed.front());
}

// The groups that follow those of the command's own options, in this order; 0 for the others.
int place_of_group(const std::string& group) {
  const std::vector<std::string> last = {"Output", "Advanced", kMaintainers};
  const auto found = std::find(last.begin(), last.end(), group);
  return found == last.end() ? 0 : 1 + static_cast<int>(found - last.begin());
}

// CLI11's "Could not convert: --threads = abc" in words.
std::string conversion_fault(const CLI::App& command, const std::string& message) {
  const std::string before = "Could not convert: ";
  const size_t equals = message.find(" = ");
  if (!message.starts_with(before) || equals == message.npos) return message;
  const std::string name = message.substr(before.size(), equals - before.size()), value = message.substr(equals + 3);
  const CLI::Option* option = command.get_option_no_throw(name);
  const std::string type = option ? option->get_type_name() : "";
  return name + ": '" + value + "' is not a " + (type == "INT" || type == "UINT" ? "whole number" : "number") +
         ", or out of range";
}

// The options by group; `format` writes one group.
template <class Format>
std::string groups_of(const CLI::App* app, CLI::AppFormatMode mode, Format&& format) {
  std::vector<std::string> groups = app->get_groups();
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return place_of_group(a) < place_of_group(b); });
  std::string text;
  for (const std::string& group : groups) {
    if (group.empty() || (group == kMaintainers && mode != CLI::AppFormatMode::All)) continue;
    const std::vector<const CLI::Option*> options = app->get_options(
        [&](const CLI::Option* option) { return option->get_group() == group && option->nonpositional(); });
    if (!options.empty()) text += (text.empty() ? "" : "\n") + format(group, options);
  }
  return text;
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
  const std::string groups = groups_of(
      app, mode, [this](const auto& group, const auto& options) { return make_group(group, false, options); });
  const std::string text = make_description(app) + make_usage(app, std::move(name)) + make_positionals(app) + groups +
                           make_subcommands(app, mode) + "\n" + make_footer(app);
  return CLI::detail::find_and_replace(text, "\n\n\n", "\n\n");
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
  return {conversion_fault(command, error.what()), hint};
}

}  // namespace hone::cli
