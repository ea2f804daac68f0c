#include "graph/operation_key.h"

#include <catch2/catch.hpp>

namespace hone {

TEST_CASE("the sizes of a convolution are read from its key") {
  const auto sizes = operation_sizes(
      "convolution:f32[2,28,30,16]*f32[3,5,16,64]->f32[2,14,28,64]:b01f_01io->b01f:size=3x5 stride=2x1 pad=1_0x1_1 "
      "rhs_dilate=1x1");
  REQUIRE(sizes);
  CHECK(sizes->convolution);
  CHECK(sizes->m == 2 * 14 * 28);
  CHECK(sizes->n == 64);
  CHECK(sizes->k == 3 * 5 * 16);
  CHECK(sizes->images == 2);
  CHECK(sizes->features_minor);
  CHECK(sizes->results_minor);
  REQUIRE(sizes->windows.size() == 2);
  CHECK(sizes->windows[0].in == 28);
  CHECK(sizes->windows[0].out == 14);
  CHECK(sizes->windows[0].stride == 2);
  CHECK(sizes->windows[0].low == 1);
  CHECK(sizes->windows[0].high == 0);
  CHECK(sizes->windows[1].size == 5);
  CHECK(sizes->windows[1].stride == 1);
  CHECK(sizes->flops() == 2.0 * 2 * 14 * 28 * 64 * 3 * 5 * 16);
}

TEST_CASE("a convolution in another order of dimensions has the same sizes") {
  const auto sizes = operation_sizes("convolution:f32[1,8,20]*f32[32,8,3]->f32[1,32,18]:bf0_oi0->bf0:size=3");
  REQUIRE(sizes);
  CHECK(sizes->m == 18);
  CHECK(sizes->n == 32);
  CHECK(sizes->k == 24);
  CHECK_FALSE(sizes->features_minor);
  CHECK_FALSE(sizes->results_minor);
}

TEST_CASE("the sizes of a dot are read from its key") {
  const auto sizes = operation_sizes(
      "dot:bf16[4,7,64]*bf16[4,32,64]->f32[4,7,32]:lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
      "rhs_contracting_dims={2}");
  REQUIRE(sizes);
  CHECK_FALSE(sizes->convolution);
  CHECK(sizes->batch == 4);
  CHECK(sizes->m == 7);
  CHECK(sizes->n == 32);
  CHECK(sizes->k == 64);
  CHECK(sizes->left_bytes == 2);
  CHECK(sizes->result_bytes == 4);
  CHECK(sizes->depth_minor);
}

TEST_CASE("what is no key of a convolution or dot has no sizes") {
  for (const char* key :
       {"", "convolution:", "dot:", "sort:f32[8]", "convolution:f32[1,8,20]*f32[32,8,3]->f32[1,32,18]",
        "convolution:f32[1,8,20]*f32[32,8,3]->f32[1,32,18]:b0f:size=3",
        "convolution:f32[1,8,20]*f32[32,8,3]->f32[1,32,18]:bf0_oi0->bf0:size=3x3",
        "convolution:c64[1,8,20]*f32[32,8,3]->f32[1,32,18]:bf0_oi0->bf0:size=3",
        "convolution:f32[1,8,x]*f32[32,8,3]->f32[1,32,18]:bf0_oi0->bf0:size=3", "dot:bf16[7,64]*bf16[64,32]->f32[7,32]",
        "dot:bf16[7,64]*bf16[64,32]->f32[7,32]:lhs_contracting_dims={1}, rhs_contracting_dims={9}"}) {
    INFO(key);
    CHECK_FALSE(operation_sizes(key));
  }
}

}  // namespace hone
