#include "cli/command_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hone::cli {

namespace {

OptionInfo option_info(CLI::Option& option) {
  OptionInfo info;
  info.positional = option.get_positional();
  if (info.positional) {
    info.names = {option.get_name(true, false)};
  } else {
    for (const std::string& letter : option.get_snames()) info.names.push_back("-" + letter);
    if (const std::string name = shown_name(option); !name.empty()) info.names.push_back(name);
  }
  const bool flag = option.get_type_size() == 0;
  info.value = flag || info.positional ? "" : value_label(option);
  info.about = option.get_description();
  info.group = option.get_group();
  info.words = offered(option);
  info.required = option.get_required();
  info.list = info.positional ? option.get_expected_max() > 1 : info.value == "LIST";
  return info;
}

CommandInfo tree_of(CLI::App& app, const std::string& name) {
  CommandInfo command{name, app.get_description(), {}, {}};
  for (const bool positional : {true, false})
    for (CLI::Option* option : app.get_options())
      if (!option->get_group().empty() && option->get_positional() == positional)
        command.options.push_back(option_info(*option));
  for (CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!sub->get_group().empty()) command.below.push_back(tree_of(*sub, name + " " + sub->get_name()));
  return command;
}

}  // namespace

CommandInfo command_tree(CLI::App& app) { return tree_of(app, app.get_name()); }

std::vector<const CommandInfo*> flattened(const CommandInfo& root) {
  std::vector<const CommandInfo*> list = {&root};
  for (const CommandInfo& below : root.below)
    for (const CommandInfo* command : flattened(below)) list.push_back(command);
  return list;
}

CLI::Option* offer(CLI::Option* option, const std::vector<std::string>& words) {
  return option->check(CLI::Validator([](std::string&) { return std::string(); }, "",
                                      fmt::format("{}{}", kOffers, fmt::join(words, ","))));
}

std::vector<std::string> offered(CLI::Option& option) {
  std::vector<std::string> words;
  for (int i = 0;; ++i) {
    const CLI::Validator* validator = nullptr;
    try {
      validator = option.get_validator(i);
    } catch (const CLI::OptionNotFound&) {  // CLI11 does not say how many there are
      return words;
    }
    const std::string& name = validator->get_name();
    if (name.rfind(kOffers, 0) == 0) words = CLI::detail::split(name.substr(sizeof kOffers - 1), ',');
  }
}

std::string shown_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? "" : "--" + option.get_lnames().front();
}

std::string value_label(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type == "TEXT") return "NAME";
  if (type == "INT" || type == "UINT") return "N";
  return type == "FLOAT" ? "X" : type;
}

}  // namespace hone::cli
