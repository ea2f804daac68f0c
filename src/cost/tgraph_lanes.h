// What the scorer of the published TGraph computes with, on vectors of kLanes configurations.
#pragma once

#include <cstdint>
#include <utility>

#include "base/lanes.h"
#include "cost/tgraph_packed.h"

namespace hone::cost {

template <int kLanes>
struct TGraphLanes : Lanes<kLanes> {
  using typename Lanes<kLanes>::Lane;

  struct alignas(4 * kLanes) Cell {  // GCC aligns wide vectors by the widest register of its default target
    Lane x;
  };

  // Columns of neighbouring groups of configurations: a row of them begins `pitch` cells after the one before.
  struct Inputs {
    const Cell* at;
    int64_t pitch;
  };
  struct Outputs {
    Cell* at;
    int64_t pitch;
  };

  // x Phi(x) within 2e-6 for |x| < 12. erf(x / sqrt 2) / x on |x| < 5 is a polynomial in x^2 (a Chebyshev fit of degree 12),
  // cheaper than the usual forms with an exponential and a quotient; from there on erf is 1 within 6e-7.
  static HONE_INLINE void gelu(Lane& x) {
    constexpr float kEnd = 5,
                    kTerms[] = {0.00117914833f, -0.00321204704f, 0.0035550769f,  -0.00540899765f, 0.0127046565f,
                                -0.0222930964f, 0.0328607969f,   -0.0465517528f, 0.0628721192f,   -0.0808828548f,
                                0.103041999f,   -0.140592664f,   0.282727569f};
    Lane z = x;
    Lanes<kLanes>::bound(z, kEnd);
    const Lane t = z * z * (2 / (kEnd * kEnd)) - 1.0f;
    Lane p = Lane{} + kTerms[0];
#pragma GCC unroll 12
    for (int i = 1; i < 13; ++i) p = p * t + kTerms[i];
    x *= 0.5f + 0.5f * p * z;
  }

  // Each block of kHalf lanes and its neighbour swapped, for reductions.
  template <int kHalf, int... kLane>
  static HONE_INLINE Lane swapped(const Lane& x, std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(x, x, (kLane ^ kHalf)...);
  }

  template <int kHalf = kLanes / 2>
  static HONE_INLINE float sum_of(Lane& x) {
    x += swapped<kHalf>(x, std::make_integer_sequence<int, kLanes>());
    if constexpr (kHalf > 1)
      return sum_of<kHalf / 2>(x);
    else
      return x[0];
  }

  template <int kHalf = kLanes / 2>
  static HONE_INLINE float most_of(Lane& x) {
    const Lane y = swapped<kHalf>(x, std::make_integer_sequence<int, kLanes>());
    x = x < y ? y : x;
    if constexpr (kHalf > 1)
      return most_of<kHalf / 2>(x);
    else
      return x[0];
  }

  // kOut outputs of kGroups groups: out = weights in + bias.
  template <int kOut, int kGroups>
  static HONE_INLINE void product(const Inputs& in, const PackedLayer& layer, int64_t output, const Outputs& out) {
    constexpr int64_t kBlock = PackedLayer::kBlock;
    const float* weights = layer.weights.data() + output / kBlock * kBlock * layer.width + output % kBlock;
    const float* bias = layer.bias.data() + output;
    Lane sum[kOut][kGroups];
#pragma GCC unroll 8
    for (int k = 0; k < kOut; ++k)
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g) sum[k][g] = Lane{} + bias[k];
    const Cell* x = in.at;
    for (int64_t j = layer.width; j > 0; --j, x += in.pitch, weights += kBlock) {
#pragma GCC unroll 8
      for (int k = 0; k < kOut; ++k)
#pragma GCC unroll 2
        for (int g = 0; g < kGroups; ++g) sum[k][g] += x[g].x * weights[k];
    }
    Cell* to = out.at + output * out.pitch;
#pragma GCC unroll 8
    for (int k = 0; k < kOut; ++k)
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g) to[k * out.pitch + g].x = sum[k][g];
  }

  // Eight outputs of two groups fill the registers of AVX-512, four of two those of AVX2.
  template <int kGroups>
  static HONE_INLINE void linear(const Inputs& in, const PackedLayer& layer, const Outputs& out) {
    constexpr int kMost = kLanes == 16 ? 8 : 4;
    int64_t k = 0;
    for (; k + kMost <= layer.outputs; k += kMost) product<kMost, kGroups>(in, layer, k, out);
    if (kMost == 8 && k + 4 <= layer.outputs) {
      product<4, kGroups>(in, layer, k, out);
      k += 4;
    }
    for (; k < layer.outputs; ++k) product<1, kGroups>(in, layer, k, out);
  }
};

}  // namespace hone::cost
