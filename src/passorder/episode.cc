#include "passorder/episode.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/sha256.h"

namespace hone::passorder {
namespace {

using nlohmann::json;

constexpr char kEpisodeFormat[] = "hone-gym-episode-1";

// Conversion would cut numbers with a fraction.
int64_t count_of(const json& object, const std::string& path) {
  const json& value = object.at("instructions");
  if (!value.is_number_integer())
    throw Error("the value " + value.dump() + " is no whole number", path, "instructions");
  return value.get<int64_t>();
}

std::string difference(const EpisodeStep& step, const PassState& state, size_t place) {
  if (state.instructions != step.instructions)
    return fmt::format("step {}, {}: {} instructions are left, not {}", place, step.pass, state.instructions,
                       step.instructions);
  if (state.fingerprint != step.fingerprint)
    return fmt::format("step {}, {}: another program of as many instructions is left", place, step.pass);
  return "";
}

}  // namespace

json to_json(const Episode& episode) {
  json steps = json::array();
  for (const EpisodeStep& step : episode.steps)
    steps.push_back({{"pass", step.pass}, {"instructions", step.instructions}, {"fingerprint", step.fingerprint}});
  return {{"format", kEpisodeFormat},
          {"program", episode.program},
          {"sha256", episode.sha256},
          {"instructions", episode.instructions},
          {"step_limit_s", episode.step_limit_s},
          {"steps", steps}};
}

Episode read_episode(const std::string& path) {
  try {
    const json object = json::parse(shallow_json(read_file(path)));
    if (!object.is_object() || object.value("format", "") != kEpisodeFormat)
      throw Error(std::string("is not of format ") + kEpisodeFormat, path, "docs/reference/gym.md describes it");
    Episode episode{object.at("program"), object.at("sha256"), count_of(object, path), {}};
    episode.step_limit_s = object.value("step_limit_s", episode.step_limit_s);
    if (!(episode.step_limit_s >= 0)) throw Error("the limit of a step is below 0 s", path, "step_limit_s");
    for (const json& step : object.at("steps"))
      episode.steps.push_back({step.at("pass"), count_of(step, path), step.at("fingerprint")});
    return episode;
  } catch (const json::exception& e) {
    throw Error(std::string("is not of format ") + kEpisodeFormat + ": " + e.what(), path,
                "docs/reference/gym.md describes it");
  }
}

EpisodeReplay replay(const Episode& episode, PassSession& session, const std::string& program) {
  const std::string path = program.empty() ? episode.program : program;
  for (const EpisodeStep& step : episode.steps) session.check_pass(step.pass);
  const std::string bytes = read_file(path);
  if (Sha256().add(bytes).hex() != episode.sha256)
    throw Error("the program has other bytes than the episode's", path, "give its file with --program");
  const std::string key = session.load(bytes, path);
  PassStatePtr state = session.initial(key);
  EpisodeReplay done{0, state->instructions, ""};
  if (state->instructions != episode.instructions) {
    done.problem = fmt::format("untouched it has {} instructions, not {}", state->instructions, episode.instructions);
    return done;
  }
  PassHistory history;
  for (const EpisodeStep& step : episode.steps) {
    const PassStep result = session.step(key, state, history, step.pass);
    state = result.state;
    if (result.changed) history.push_back(step.pass);
    done.instructions = state->instructions;
    done.problem = difference(step, *state, done.steps + 1);
    if (!done.problem.empty()) return done;
    ++done.steps;
  }
  return done;
}

}  // namespace hone::passorder
