#include "collect/generate.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "cli/cli.h"

namespace hone::cli {

namespace {

namespace fs = std::filesystem;

struct GenerateCommand {
  std::shared_ptr<OutputOptions> output;
  std::string kind = "kernel", out;
  int count = 100;
  collect::GenerateOptions options;
};

int generate_command(const GenerateCommand& command) {
  collect::GenerateOptions options = command.options;
  options.kind = collect::generate_kind_from_name(command.kind);
  if (command.count < 1 || command.count > 100000)
    throw Error("the number of programs must be between 1 and 100000", "--count");
  collect::generate_program(options, 0);  // bad options leave no folder behind
  std::error_code failed;
  fs::create_directories(command.out, failed);
  if (failed) throw Error("cannot make the folder: " + failed.message(), command.out);
  nlohmann::json manifest = nlohmann::json::array();
  for (int i = 0; i < command.count; ++i) {
    const std::string name = collect::generated_name(options, i), file = name + ".hlo";
    write_file((fs::path(command.out) / file).string(), collect::generate_program(options, i));
    manifest.push_back({{"name", name}, {"file", file}, {"family", "generated-" + command.kind}});
  }
  const std::string path =
      (fs::path(command.out) / fmt::format("generated-{}-{}.json", command.kind, options.seed)).string();
  write_file(path, manifest.dump(1) + "\n");
  if (command.output->json)
    print({{"programs", command.count}, {"folder", command.out}, {"manifest", path}, {"seed", options.seed}});
  else
    fmt::print("{} programs, listed in {}\n", command.count, path);
  return 0;
}

}  // namespace

Runner declare_generate(CLI::App& app) {
  const auto command = std::make_shared<GenerateCommand>();
  app.add_option("--count", command->count, "number of programs, 1 to 100000 (default 100)");
  app.add_option("--seed", command->options.seed, "seed: the same one makes the same programs (default 0)");
  app.add_option("--kind", command->kind,
                 "kind of program: kernel (small graphs) or program (several layers) (default kernel)")
      ->check(one_of({"kernel", "program"}));
  app.add_option("--max-elements", command->options.max_elements, "most elements of one array (default 2097152)")
      ->type_name("N");
  app.add_option("-o,--output", command->out, "folder for the programs and their manifest")
      ->required()
      ->type_name("FOLDER");
  command->output = add_output_options(app);
  return [command] { return generate_command(*command); };
}

}  // namespace hone::cli
