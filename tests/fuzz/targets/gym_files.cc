// Files of environments: episodes, results, sets of programs, options of environments, and manifests of programs to collect.
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "collect/collect.h"
#include "passorder/episode.h"
#include "passorder/leaderboard.h"
#include "passorder/pass_env_json.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void gym_files(Bytes input) {
  const int choice = take_choice(input, 5);
  const MemoryFile file(input);
  expect_errors([&] {
    if (choice == 0) to_json(passorder::read_episode(file.path())).dump();
    if (choice == 1) passorder::read_gym_result(file.path());
    if (choice == 2) passorder::read_benchmark(file.path(), "programs");
    if (choice == 3) {
      const nlohmann::json json = nlohmann::json::parse(shallow_json(text_of(input)), nullptr, false);
      if (!json.is_discarded()) passorder::pass_env_options_from_json(json);
    }
    if (choice == 4) collect::read_manifest(file.path());
  });
}

}  // namespace hone::fuzz
