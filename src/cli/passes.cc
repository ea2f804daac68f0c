#include <fmt/core.h>

#include "cli/cli.h"
#include "passorder/pass_session.h"

namespace hone::cli {

namespace {

using nlohmann::json;

void print_table(const std::vector<passorder::PassInfo>& passes) {
  std::string group;
  int actions = 0;
  for (const passorder::PassInfo& pass : passes) {
    if (pass.group != group) fmt::print("{}{}\n", group.empty() ? "" : "\n", pass.group);
    group = pass.group;
    const char* mark = pass.default_action ? " " : pass.changes_numerics ? "~" : "-";
    fmt::print("{} {:<38} {}{}\n", mark, pass.name, pass.meaning, pass.note.empty() ? "" : " (" + pass.note + ")");
    actions += pass.default_action;
  }
  fmt::print("\n{} passes, {} of them in the default action set; - on request only, ~ changes numerics\n",
             passes.size(), actions);
}

}  // namespace

Runner declare_passes(CLI::App& app) {
  const auto output = add_output_options(app);
  return [output] {
    passorder::PassSession session({});
    if (!output->json) {
      print_table(session.passes());
      return 0;
    }
    json list = json::array();
    for (const passorder::PassInfo& pass : session.passes())
      list.push_back({{"name", pass.name},
                      {"group", pass.group},
                      {"meaning", pass.meaning},
                      {"default", pass.default_action},
                      {"changes_numerics", pass.changes_numerics},
                      {"note", pass.note}});
    print({{"passes", list}, {"default_actions", session.default_passes().size()}});
    return 0;
  };
}

}  // namespace hone::cli
