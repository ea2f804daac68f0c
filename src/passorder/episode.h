// An episode of an environment as a file: the passes that were run on a program and what each left, which others can replay.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "passorder/pass_session.h"

namespace hone::passorder {

// What a pass left: also where it changed nothing or failed.
struct EpisodeStep {
  std::string pass;
  int64_t instructions = 0;  // of all computations
  std::string fingerprint;   // PassState::fingerprint
};

struct Episode {
  std::string program;       // its file, as the environment was given it
  std::string sha256;        // of the bytes that were loaded from it, unpacked
  int64_t instructions = 0;  // untouched
  std::vector<EpisodeStep> steps;
  double step_limit_s = PassSessionOptions().step_limit_s;  // of the session: a pass that takes longer fails
};

// {"format": "hone-gym-episode-1", "program", "sha256", "instructions", "step_limit_s",
// "steps": [{"pass", "instructions", "fingerprint"}]}; a file without the limit has the default one.
nlohmann::json to_json(const Episode& episode);
Episode read_episode(const std::string& path);  // throws Error for what is no such file

struct EpisodeReplay {
  int64_t steps = 0;         // that led to the same program
  int64_t instructions = 0;  // after the last one that was run
  std::string problem;       // the first difference; empty = there is none
};

// Runs the passes again, up to the first that leaves another program, in a session that should have the episode's limit. `program`:
// its file, if not the one that the episode names. Throws Error where the file is missing, has other bytes or is no program, and for unknown passes.
EpisodeReplay replay(const Episode& episode, PassSession& session, const std::string& program = "");

}  // namespace hone::passorder
