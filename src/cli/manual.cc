// Manual pages in the macros of man(7).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "cli/command_tree.h"

namespace hone::cli {

namespace {

// Text of a line: a dash is a minus that can be copied, a leading dot or quote is no request.
std::string roff(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c == '\\')
      line += "\\e";
    else if (c == '-')
      line += "\\-";
    else
      line += c == '\n' ? ' ' : c;
  }
  return line.starts_with('.') || line.starts_with('\'') ? "\\&" + line : line;
}

std::string dashed(const std::string& name) {
  return CLI::detail::find_and_replace(name, std::string(" "), std::string("-"));
}

std::string option_entry(const OptionInfo& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  if (!option.value.empty()) names += " \\fI" + roff(option.value) + "\\fR";
  return fmt::format(".TP\n{}{}\n{}\n", names, option.required && !option.positional ? " (required)" : "",
                     roff(option.about));
}

std::string synopsis(const CommandInfo& command) {
  std::string text = fmt::format("\\fB{}\\fR [\\fIOPTIONS\\fR]", roff(command.name));
  for (const OptionInfo& option : command.options) {
    if (!option.positional) continue;
    const std::string name = "\\fI" + roff(option.names.front()) + "\\fR" + (option.list ? "..." : "");
    text += option.required ? " " + name : " [" + name + "]";
  }
  return text + (command.below.empty() ? "" : " \\fICOMMAND\\fR");
}

// Options by heading, in the order of their first.
std::vector<std::pair<std::string, std::string>> sections(const CommandInfo& command) {
  std::vector<std::pair<std::string, std::string>> list;
  for (const OptionInfo& option : command.options) {
    const std::string heading = option.positional ? "Arguments" : option.group;
    auto at = std::find_if(list.begin(), list.end(), [&](const auto& section) { return section.first == heading; });
    if (at == list.end()) at = list.insert(list.end(), {heading, ""});
    at->second += option_entry(option);
  }
  return list;
}

const CommandInfo* parent_of(const CommandInfo& command, const CommandInfo& root) {
  for (const CommandInfo* candidate : flattened(root))
    for (const CommandInfo& below : candidate->below)
      if (&below == &command) return candidate;
  return nullptr;
}

}  // namespace

std::string manual_page(const CommandInfo& command, const CommandInfo& root, const std::string& version) {
  std::string upper = dashed(command.name);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string text = fmt::format(".\\\" Made by `hone man`.\n.TH \"{}\" \"1\" \"\" \"hone {}\" \"Hone\"\n", roff(upper),
                                 roff(version));
  text += fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n", roff(dashed(command.name)), roff(command.summary),
                      synopsis(command));
  for (const auto& [heading, entries] : sections(command)) {
    std::string title = heading;
    for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    text += fmt::format(".SH \"{}\"\n{}", roff(title), entries);
  }
  if (!command.below.empty()) text += ".SH COMMANDS\n";
  for (const CommandInfo& below : command.below)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(below.last_word()), roff(below.summary));
  text +=
      ".SH \"EXIT STATUS\"\n0: done; 1: the request was valid and could not be carried out; 2: bad input.\n"
      "Results go to standard output, progress and messages to standard error.\n";
  std::vector<std::string> others;
  if (const CommandInfo* above = parent_of(command, root)) others.push_back(above->name);
  for (const CommandInfo& below : command.below) others.push_back(below.name);
  for (std::string& name : others) name = "\\fB" + roff(dashed(name)) + "\\fR(1)";
  if (!others.empty()) text += fmt::format(".SH \"SEE ALSO\"\n{}\n", fmt::join(others, ", "));
  return text;
}

}  // namespace hone::cli
