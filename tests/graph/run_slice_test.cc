#include "graph/run_slice.h"

#include <catch2/catch.hpp>

namespace hone {

TEST_CASE("the time of an instruction excludes the instructions inside it", "[graph]") {
  // Two runs of a loop of 10 that contains two bodies of 3, and on another thread something beside it.
  std::vector<RunSlice> slices;
  for (int run = 0; run < 2; ++run) {
    const double at = 100 * run;
    slices.push_back({"while", run, 0, at, 10});
    slices.push_back({"body", run, 0, at + 1, 3});
    slices.push_back({"beside", run, 1, at + 2, 4});
    slices.push_back({"body", run, 0, at + 5, 3});
    slices.push_back({"after", run, 0, at + 10, 2.0 * run});
  }
  CHECK(own_times(slices) == std::vector<double>{4, 3, 4, 3, 0, 4, 3, 4, 3, 2});
  const std::map<std::string, double> times = time_by_instruction(slices);
  CHECK(times.at("while") == 4);
  CHECK(times.at("body") == 6);
  CHECK(times.at("beside") == 4);
  CHECK(times.at("after") == 1);  // the mean of the runs
  CHECK(time_by_instruction({}).empty());
}

}  // namespace hone
