// A program that many passes change.
#pragma once

namespace hone::passorder {

// Ten instructions: a product with one, a dead instruction, two equal sums and a logistic, which five passes change. dce removes one,
// cse one and algsimp three.
inline constexpr char kSmallProgram[] = R"(HloModule small
ENTRY main {
  x = f32[64,64] parameter(0)
  y = f32[64,64] parameter(1)
  one = f32[] constant(1)
  ones = f32[64,64] broadcast(one), dimensions={}
  same = f32[64,64] multiply(x, ones)
  a = f32[64,64] add(same, y)
  b = f32[64,64] add(same, y)
  l = f32[64,64] logistic(a)
  dead = f32[64,64] tanh(y)
  ROOT r = f32[64,64] multiply(l, b)
}
)";

}  // namespace hone::passorder
