// Saved states and recorded episodes of an environment: what continues, what is replayed, and what is refused.
#include "passorder/episode.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/files.h"
#include "passorder/pass_env.h"
#include "tests/passorder/session_options.h"

using namespace hone;
using namespace hone::passorder;
using nlohmann::json;

namespace {

// Of which dce, cse and algsimp remove instructions.
constexpr char kShrinks[] = R"(HloModule shrinks
ENTRY main {
  x = f32[64,64] parameter(0)
  one = f32[] constant(1)
  ones = f32[64,64] broadcast(one), dimensions={}
  same = f32[64,64] multiply(x, ones)
  a = f32[64,64] add(same, x)
  b = f32[64,64] add(same, x)
  dead = f32[64,64] tanh(x)
  ROOT r = f32[64,64] multiply(a, b)
}
)";

struct Recorded {
  TempDir folder;
  std::string path = (folder.path() / "shrinks.hlo").string();
  PassEnvOptions options = [] {
    PassEnvOptions made;
    made.passes = {"dce", "cse", "algsimp"};
    made.traj_limit = 5;
    made.session = session_options();
    return made;
  }();
  Recorded() {
    write_file(path, kShrinks);
    options.programs = {path};
  }
  std::string file_of(const Episode& episode) const {
    const std::string file = (folder.path() / "episode.json").string();
    write_file(file, to_json(episode).dump());
    return file;
  }
};

}  // namespace

TEST_CASE("a restored episode continues as the saved one, with another worker", "[rl][passes]") {
  const Recorded t;
  PassEnv env(t.options), other(t.options);
  CHECK_THROWS_AS(env.save(), Error);
  env.reset(0);
  for (const int64_t action : {1, 1, 0}) env.step(action);
  const json state = json::parse(env.save().dump());
  other.restore(state);
  CHECK(other.state().fingerprint == env.state().fingerprint);
  CHECK(other.action_mask() == env.action_mask());
  CHECK(other.step(2).reward == env.step(2).reward);
  CHECK(other.step(0).truncated);  // as many actions are left as there were
  CHECK(env.step(0).truncated);
}

TEST_CASE("states that do not fit are refused", "[rl][passes]") {
  const Recorded t;
  PassEnv env(t.options);
  env.reset(0);
  env.step(0);
  const json state = env.save();
  for (const json& change :
       {json{{"format", "x"}}, json{{"program", "bert"}}, json{{"passes", {"nonsense"}}}, json{{"passes", 3}},
        json{{"fingerprint", std::string(32, '0')}}, json{{"passes", std::vector<std::string>(6, "dce")}}}) {
    INFO(change.dump());
    json changed = state;
    changed.update(change);
    CHECK_THROWS_AS(env.restore(changed), Error);
  }
  CHECK_THROWS_AS(env.restore(json::array()), Error);
}

TEST_CASE("predicted run times of a saved state are compared", "[rl]") {
  const json saved = {{"initial_ns", 200.0}, {"ns", 100.0}};
  CHECK_NOTHROW(check_predicted_time(saved, saved));
  CHECK_NOTHROW(check_predicted_time(nullptr, saved));  // saved where they are no reward
  CHECK_NOTHROW(check_predicted_time(saved, nullptr));
  CHECK_NOTHROW(check_predicted_time(saved, {{"initial_ns", 200.0}, {"ns", 200.0}}));  // a later prediction failed here
  CHECK_THROWS_AS(check_predicted_time(saved, {{"initial_ns", 199.0}, {"ns", 100.0}}), Error);
  for (const json& bad : {json(3), json{{"ns", 200.0}}, json{{"initial_ns", "200"}, {"ns", 100.0}}})
    CHECK_THROWS_AS(check_predicted_time(bad, saved), Error);
}

TEST_CASE("an episode names the bytes that were loaded, and the limit of its steps", "[rl][passes]") {
  Recorded t;
  t.options.session.step_limit_s = 7;
  PassEnv env(t.options);
  env.reset(0);
  env.step(0);
  write_file(t.path, std::string(kShrinks) + "\n");
  const Episode episode = read_episode(t.file_of(env.episode()));
  CHECK(episode.step_limit_s == 7);
  PassSession session(t.options.session);
  CHECK_THROWS_AS(replay(episode, session), Error);  // the file has other bytes now
  const std::string copy = (t.folder.path() / "copy.hlo").string();
  write_file(copy, kShrinks);
  CHECK(replay(episode, session, copy).problem.empty());
}

TEST_CASE("an episode is replayed step by step, up to the first difference", "[rl][passes]") {
  const Recorded t;
  PassEnv env(t.options);
  env.reset(0);
  for (const int64_t action : {0, 0, 1, 2}) env.step(action);
  const Episode episode = read_episode(t.file_of(env.episode()));
  REQUIRE(episode.steps.size() == 4);
  CHECK(episode.steps[0].instructions == episode.instructions - 1);
  PassSession session(t.options.session);
  const EpisodeReplay done = replay(episode, session);
  CHECK(done.problem.empty());
  CHECK(done.steps == 4);
  CHECK(done.instructions == env.state().instructions);

  Episode counts = episode;
  counts.steps[2].instructions += 1;
  CHECK(replay(counts, session).steps == 2);
  CHECK(replay(counts, session).problem.find("step 3, cse") == 0);
  Episode content = episode;
  content.steps[3].fingerprint[0] ^= 1;
  CHECK(replay(content, session).problem.find("another program") != std::string::npos);
  Episode initial = episode;
  initial.instructions = 3;
  CHECK(replay(initial, session).problem.find("untouched") == 0);
}

TEST_CASE("episodes of other programs and files that are none are refused", "[rl][passes]") {
  const Recorded t;
  PassEnv env(t.options);
  env.reset(0);
  env.step(0);
  Episode episode = env.episode();
  PassSession session(t.options.session);
  const std::string copy = (t.folder.path() / "copy.hlo").string();
  write_file(copy, kShrinks);
  CHECK(replay(episode, session, copy).problem.empty());
  write_file(copy, std::string(kShrinks) + "\n");
  CHECK_THROWS_AS(replay(episode, session, copy), Error);
  episode.steps[0].pass = "nonsense";
  CHECK_THROWS_AS(replay(episode, session), Error);
  const std::string bad = (t.folder.path() / "bad.json").string();
  json no_limit = to_json(env.episode());
  no_limit["step_limit_s"] = -1;
  for (const std::string& text : {std::string("{}"), std::string("["), no_limit.dump(),
                                  std::string(R"({"format": "hone-gym-episode-1", "program": 3})")}) {
    write_file(bad, text);
    CHECK_THROWS_AS(read_episode(bad), Error);
  }
}
