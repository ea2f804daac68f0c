// hone completion SHELL and hone man: from the same tables as the help.
#include <fmt/core.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "cli/cli.h"
#include "cli/command_tree.h"
#include "cli/version.h"

namespace hone::cli {

namespace {

void write_manual(const CommandInfo& root, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw RunError("cannot make the folder: " + failed.message(), folder);
  for (const CommandInfo* command : flattened(root)) {
    const std::string name = CLI::detail::find_and_replace(command->name, std::string(" "), std::string("-")) + ".1";
    write_file((std::filesystem::path(folder) / name).string(), manual_page(*command, root, this_version().hone));
  }
}

}  // namespace

Runner declare_completion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish; as in: source <(hone completion bash)")
      ->required()
      ->type_name("")
      ->check(one_of({"bash", "zsh", "fish"}));
  app.set_help_flag("-h,--help", "print this help and exit");
  return [shell, &app] {
    const std::string script = completion_script(command_tree(*app.get_parent()), *shell);
    std::fwrite(script.data(), 1, script.size(), stdout);
    return 0;
  };
}

Runner declare_man(CLI::App& app) {
  const auto folder = std::make_shared<std::string>();
  app.add_option("-o,--output", *folder, "folder for the pages, hone.1 and one for each command")
      ->required()
      ->type_name("FOLDER");
  app.set_help_flag("-h,--help", "print this help and exit");
  return [folder, &app] {
    write_manual(command_tree(*app.get_parent()), *folder);
    return 0;
  };
}

}  // namespace hone::cli
