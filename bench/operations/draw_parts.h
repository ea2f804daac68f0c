// What the drawings of draw.h are made of.
#pragma once

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <vector>

#include "operations/draw.h"

namespace hone::bench {

template <size_t N>
int one_of(Rng& rng, const std::array<int, N>& values) {
  return values[rng.below(N)];
}

inline std::string program(const std::string& left, const std::string& right, const std::string& result,
                           const std::string& op) {
  return fmt::format(
      "HloModule one\nENTRY main {{\n  a = {} parameter(0)\n  b = {} parameter(1)\n  ROOT c = {} {}\n}}\n", left, right,
      result, op);
}

inline int features_of(Rng& rng) {
  return one_of(rng, std::array{8,   16,  24,  32,  32,  48,  64,  64,  64,  80,  96,
                                128, 128, 160, 192, 256, 256, 320, 384, 512, 512, 768});
}

inline std::string array_of(const std::string& type, const std::vector<int>& sizes) {
  return fmt::format("{}[{}]", type, fmt::join(sizes, ","));
}

// Convolutions (draw_convolutions.cc).
Drawn strided_convolution(Rng& rng);
Drawn dilated_convolution(Rng& rng);
Drawn grouped_convolution(Rng& rng);
Drawn depthwise_convolution(Rng& rng);
Drawn dense_gradient(Rng& rng);
Drawn depthwise_gradient(Rng& rng);
Drawn gradient_of_inputs(Rng& rng);
Drawn volume_convolution(Rng& rng);
Drawn convolution_of_other_types(Rng& rng);
// Dots (draw_dots.cc).
Drawn f32_dot(Rng& rng);
Drawn bf16_dot(Rng& rng);
Drawn f16_dot(Rng& rng);
Drawn dot_of_byte_weights(Rng& rng);
Drawn small_dots(Rng& rng);
Drawn dot_of_bytes(Rng& rng);

}  // namespace hone::bench
