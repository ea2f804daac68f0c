#include "cost/loop_nest.h"

#include <catch2/catch.hpp>

#include "tests/cost/test_kernel.h"

namespace hone::cost {

TEST_CASE("a node that is said to use itself has the loops of one that does not", "[cost]") {
  TestKernel kernel = kernel_of({node("parameter", f32({4, 4, 8})), node("transpose", f32({4, 8, 4}), {0}, {1, 2, 0}),
                                 node("exponential", f32({4, 8, 4}), {1})},
                                {"default"});
  const LoopNest plain = loop_nest_of(kernel.view());
  for (const int32_t n : {0, 1, 2}) {
    kernel.encoded.edge_from.push_back(n);
    kernel.encoded.edge_to.push_back(n);
  }
  const LoopNest with_circles = loop_nest_of(kernel.view());
  CHECK(plain.accesses.size() == 2);
  CHECK(with_circles.accesses == plain.accesses);
  CHECK(with_circles.extent == plain.extent);
  CHECK(with_circles.work.size() == plain.work.size());
}

}  // namespace hone::cost
