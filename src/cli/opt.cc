#include <fmt/core.h>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/cli.h"
#include "passorder/pass_session.h"

namespace hone::cli {

namespace {

using nlohmann::json;

struct OptCommand {
  std::shared_ptr<OutputOptions> output;
  std::string program, passes, out;
  bool verify = false;
};

std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    if (end == begin) throw Error("an empty name in the list of passes", "--passes", "names separated by commas");
    names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

json to_json(const passorder::PassState& state) {
  return {{"instructions", state.instructions},
          {"flops", state.flops},
          {"transcendentals", state.transcendentals},
          {"bytes", state.bytes},
          {"fingerprint", state.fingerprint}};
}

int opt_command(const OptCommand& command) {
  const std::vector<std::string> names = names_of(command.passes);
  passorder::PassSession session({});
  for (const std::string& name : names) session.check_pass(name);
  const report::ProgramFile file = report::read_program(command.program);
  const std::string program = session.load(file.bytes, file.name);
  const passorder::PassStatePtr initial = session.initial(program);
  passorder::PassStatePtr state = initial;
  passorder::PassHistory history;
  json steps = json::array();
  for (const std::string& name : names) {
    const passorder::PassStep step = session.step(program, state, history, name);
    if (!step.error.empty()) throw RunError(step.error, file.name, "nothing was written");
    if (step.changed) history.push_back(name);
    state = step.state;
    steps.push_back(
        {{"pass", name}, {"changed", step.changed}, {"instructions", state->instructions}, {"ms", step.ms}});
  }
  const std::string wrong = session.verify(program, history);
  if (!wrong.empty() && command.verify) throw RunError(wrong, file.name, "nothing was written");
  const bool text_only = command.out.empty() && !command.output->json;
  if (text_only || !command.out.empty()) {
    const std::string hlo = session.hlo(program, history);
    if (text_only) std::fwrite(hlo.data(), 1, hlo.size(), stdout);
    if (!command.out.empty()) write_file(command.out, hlo);
  }
  if (command.output->json) {
    json result = {
        {"program", file.name}, {"initial", to_json(*initial)}, {"result", to_json(*state)}, {"passes", steps}};
    result["output"] = command.out.empty() ? json(nullptr) : json(command.out);
    result["verifier"] = wrong;
    print(result);
  } else if (!command.out.empty()) {
    fmt::print("{}: {} -> {} instructions, written to {}\n", file.name, initial->instructions, state->instructions,
               command.out);
  }
  if (!wrong.empty()) fmt::print(stderr, "hone: warning: {}\n", wrong);
  return 0;
}

}  // namespace

Runner declare_opt(CLI::App& app) {
  const auto command = std::make_shared<OptCommand>();
  app.add_option("PROGRAM", command->program, "program, in any format that hone inspect reads")
      ->required()
      ->type_name("");
  app.add_option("--passes", command->passes,
                 "passes to run in this order, separated by commas; hone passes lists them")
      ->required()
      ->type_name("LIST");
  app.add_option("-o,--output", command->out, "file for the program (HLO text) (default: standard output)")
      ->type_name("FILE");
  app.add_flag("--verify", command->verify, "fail when XLA's verifier finds a fault in the result");
  command->output = add_output_options(app);
  return [command] { return opt_command(*command); };
}

}  // namespace hone::cli
