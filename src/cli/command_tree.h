// The commands with their options as data, read from the tables that the help is made of: for completion and manual pages.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace hone::cli {

struct OptionInfo {
  std::vector<std::string> names;  // as help shows them: "-o", "--output"; of a positional one, "PROGRAM"
  std::string value;               // "FILE"; empty: a flag, or a positional one
  std::string about;
  std::string group;
  std::vector<std::string> words;  // known values; empty: any
  bool required = false, list = false, positional = false;
};

struct CommandInfo {
  std::string name;  // "hone collect tile"
  std::string summary;
  std::vector<OptionInfo> options;  // positional ones first
  std::vector<CommandInfo> below;
  std::string last_word() const { return name.substr(name.rfind(' ') + 1); }
};

// The command of `app` and all that help lists below it; options without a group are left out.
CommandInfo command_tree(CLI::App& app);

// All commands, each before those below it.
std::vector<const CommandInfo*> flattened(const CommandInfo& root);

// Begins the name of a validator that has the known values.
inline constexpr char kOffers[] = "offers ";

// Names the known values of an option for completion, without refusing others (a preset may be a file as well).
CLI::Option* offer(CLI::Option* option, const std::vector<std::string>& words);
std::vector<std::string> offered(CLI::Option& option);

// "--output" of "-o,--output,--old-name"; empty for an option without a long name.
std::string shown_name(const CLI::Option& option);
// The name of a value in help texts: N of CLI11's INT and UINT, X of FLOAT, NAME of TEXT.
std::string value_label(const CLI::Option& option);

std::string completion_script(const CommandInfo& root, const std::string& shell);  // bash, zsh or fish
std::string manual_page(const CommandInfo& command, const CommandInfo& root, const std::string& version);

}  // namespace hone::cli
