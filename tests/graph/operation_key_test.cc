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

TEST_CASE("groups and the order of a reversed window are read from a key") {
  const auto grouped = operation_sizes(
      "convolution:f32[1,9,9,8]*f32[3,3,2,12]->f32[1,9,9,12]:b01f_01io->b01f:size=3x3 pad=1_1x1_1 "
      "rhs_reversal=1x0:groups 4");
  REQUIRE(grouped);
  CHECK(grouped->groups == 4);
  CHECK(grouped->batch_groups == 1);
  CHECK(grouped->features == 2);
  CHECK(grouped->flops() == 2.0 * 81 * 12 * 2 * 9);
  CHECK(grouped->windows[0].reversed);
  CHECK_FALSE(grouped->windows[1].reversed);
  const auto gradient =
      operation_sizes("convolution:f32[2,9,8]*f32[2,9,8]->f32[3,1,8]:f0b_i0o->0bf:size=9 pad=1_1:batch groups 8");
  REQUIRE(gradient);
  CHECK(gradient->batch_groups == 8);
  CHECK(gradient->groups == 1);
  CHECK_FALSE(operation_sizes("convolution:f32[1,8,20]*f32[32,8,3]->f32[1,32,18]:bf0_oi0->bf0:size=3:teams 4"));
}

TEST_CASE("operations whose forms are the same are a family") {
  const std::pair<const char*, const char*> families[] = {
      {"convolution:f32[1,9,9,8]*f32[3,3,8,8]->f32[1,9,9,8]:b01f_01io->b01f:size=3x3 pad=1_1x1_1", "convolution"},
      {"convolution:f32[1,2,2,8]*f32[3,3,8,8]->f32[1,2,2,8]:b01f_01io->b01f:size=3x3 pad=1_1x1_1", "convolution"},
      {"convolution:bf16[1,9,9,8]*bf16[3,3,8,8]->bf16[1,9,9,8]:b01f_01io->b01f:size=3x3 pad=1_1x1_1",
       "convolution-of-other-types"},
      {"convolution:f32[1,9,9,8]*f32[3,3,8,8]->f32[1,9,9,8]:b01f_01oi->b01f:size=3x3 pad=1_1x1_1 rhs_reversal=1x1",
       "inputs-gradient"},
      {"convolution:f32[1,9,9,8]*f32[3,3,8,8]->f32[1,5,5,8]:b01f_01io->b01f:size=3x3 stride=2x2 pad=1_1x1_1",
       "strided-convolution"},
      {"convolution:f32[1,9,9,8]*f32[3,3,8,8]->f32[1,9,9,8]:b01f_01io->b01f:size=3x3 pad=2_2x2_2 rhs_dilate=2x2",
       "dilated-convolution"},
      {"convolution:f32[2,9,9,8]*f32[2,9,9,8]->f32[3,3,8,8]:f01b_i01o->01bf:size=9x9 pad=1_1x1_1", "weights-gradient"},
      {"convolution:f32[1,9,9,9,8]*f32[1,1,1,8,8]->f32[1,9,9,9,8]:b012f_012io->b012f:size=1x1x1", "volume-convolution"},
      {"convolution:f32[1,9,9,8]*f32[3,3,2,8]->f32[1,7,7,8]:b01f_01io->b01f:size=3x3:groups 4", "grouped-convolution"},
      {"convolution:f32[1,9,9,8]*f32[3,3,1,8]->f32[1,7,7,8]:b01f_01io->b01f:size=3x3:groups 8",
       "depthwise-convolution"},
      {"convolution:f32[2,9,8]*f32[2,9,8]->f32[3,1,8]:f0b_i0o->0bf:size=9 pad=1_1:batch groups 8",
       "depthwise-gradient"},
      {"dot:f32[7,64]*f32[64,32]->f32[7,32]:lhs_contracting_dims={1}, rhs_contracting_dims={0}", "f32-dot"},
      {"dot:bf16[7,64]*bf16[64,32]->f32[7,32]:lhs_contracting_dims={1}, rhs_contracting_dims={0}", "bf16-dot"},
      {"dot:f16[7,64]*f16[64,32]->f16[7,32]:lhs_contracting_dims={1}, rhs_contracting_dims={0}", "f16-dot"},
      {"dot:f32[1,64]*s8[64,32]->f32[1,32]:lhs_contracting_dims={1}, rhs_contracting_dims={0}", "byte-weights-dot"},
      {"small-dot:s8[7,64]*s8[64,32]->s32[7,32]:lhs_contracting_dims={1}, rhs_contracting_dims={0}", "s8-dot"},
      {"small-dot:f32[64,8,4]*f32[64,4,2]->f32[64,8,2]:lhs_batch_dims={0}, lhs_contracting_dims={2}, "
       "rhs_batch_dims={0}, rhs_contracting_dims={1}",
       "small-dot"},
  };
  for (const auto& [key, family] : families) {
    INFO(key);
    const auto sizes = operation_sizes(key);
    REQUIRE(sizes);
    CHECK(operation_family(*sizes) == std::string(family));
  }
}

}  // namespace hone
