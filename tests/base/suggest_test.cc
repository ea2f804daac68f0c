#include "base/suggest.h"

#include <catch2/catch.hpp>

namespace hone {

TEST_CASE("the nearest word is a misspelling's", "[base]") {
  const std::vector<std::string> words = {"anneal", "anneal-linear", "genetic", "beam"};
  CHECK(nearest("anneall", words) == "anneal");
  CHECK(nearest("gentic", words) == "genetic");
  CHECK(nearest("baem", words) == "beam");     // two letters swapped
  CHECK(nearest("gene", words) == "genetic");  // a beginning
  CHECK(nearest("magic", words) == std::nullopt);
  CHECK(nearest("", words) == std::nullopt);
  CHECK(nearest(std::string(100'000, 'a'), words) == std::nullopt);
  CHECK(nearest("x", {}) == std::nullopt);
  CHECK(nearest("--budgte", {"--budget", "--seed"}) == "--budget");
}

TEST_CASE("an unknown word is told with the known ones", "[base]") {
  const Error near = unknown_word("strategy", "baem", {"greedy", "beam"}, "--strategy");
  CHECK(std::string(near.what()) == "there is no strategy 'baem', did you mean 'beam'?");
  CHECK(near.where() == "--strategy");
  CHECK(near.hint() == "one of greedy, beam");
  const Error far = unknown_word("topology", "zzz", {"cpu1"}, "--devices", "name a file, or");
  CHECK(std::string(far.what()) == "there is no topology 'zzz'");
  CHECK(far.hint() == "name a file, or one of cpu1");
}

}  // namespace hone
