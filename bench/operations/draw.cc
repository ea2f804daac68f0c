#include "operations/draw.h"

#include <algorithm>

#include "base/error.h"
#include "operations/draw_parts.h"

namespace hone::bench {
namespace {

constexpr double kMostFlops = 6e8, kLeastFlops = 4e5, kMostBytes = 1e8;

// ---- as drawn for seeds 1 and 2

// Two spatial dimensions mostly; in JAX's order of dimensions or in PyTorch's.
Drawn plain_convolution(Rng& rng) {
  const bool flat = rng.below(8) == 0, jax = rng.below(4) != 0, same = rng.below(5) != 0;
  const int window = one_of(rng, std::array{1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 4, 5, 5, 7}),
            stride = one_of(rng, std::array{1, 1, 1, 1, 2}),
            size = one_of(rng, flat ? std::array{16, 32, 50, 64, 100, 128, 200, 256, 400, 512, 1000, 1500}
                                    : std::array{4, 7, 8, 10, 14, 16, 20, 28, 32, 56, 64, 112}),
            images = one_of(rng, std::array{1, 1, 1, 2, 4, 8, 16}), in = rng.below(12) == 0 ? 3 : features_of(rng),
            out = rng.below(2) == 0 ? std::max(in, 8) : features_of(rng),
            wide = window == 1 || rng.below(12) != 0 ? window : 1, low = same ? (window - 1) / 2 : 0,
            high = same ? window / 2 : 0;
  const int rows = (size + low + high - window) / stride + 1;
  const int low2 = same ? (wide - 1) / 2 : 0, high2 = same ? wide / 2 : 0,
            columns = flat ? 1 : (size + low2 + high2 - wide) / stride + 1;
  const char* type = rng.below(12) == 0 ? "bf16" : "f32";
  Drawn drawn;
  if (rows < 1 || columns < 1) return drawn;
  drawn.flops = 2.0 * images * rows * columns * out * in * window * (flat ? 1 : wide);
  drawn.bytes = 4.0 * (1.0 * images * size * (flat ? 1 : size) * in + 1.0 * images * rows * columns * out);
  std::string left, right, result, numbers;
  if (flat) {
    left = array_of(type, jax ? std::vector{images, size, in} : std::vector{images, in, size});
    right = array_of(type, jax ? std::vector{window, in, out} : std::vector{out, in, window});
    result = array_of(type, jax ? std::vector{images, rows, out} : std::vector{images, out, rows});
    numbers = fmt::format("window={{size={} stride={} pad={}_{}}}, dim_labels={}", window, stride, low, high,
                          jax ? "b0f_0io->b0f" : "bf0_oi0->bf0");
  } else {
    left = array_of(type, jax ? std::vector{images, size, size, in} : std::vector{images, in, size, size});
    right = array_of(type, jax ? std::vector{window, wide, in, out} : std::vector{out, in, window, wide});
    result = array_of(type, jax ? std::vector{images, rows, columns, out} : std::vector{images, out, rows, columns});
    numbers = fmt::format("window={{size={}x{} stride={}x{} pad={}_{}x{}_{}}}, dim_labels={}", window, wide, stride,
                          stride, low, high, low2, high2, jax ? "b01f_01io->b01f" : "bf01_oi01->bf01");
  }
  drawn.text = program(left, right, result, "convolution(a, b), " + numbers);
  return drawn;
}

constexpr std::array kSizes = {64, 128, 192, 256, 320, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192};

Drawn plain_dot(Rng& rng) {
  const int m = one_of(rng, std::array{1, 1, 1, 2, 3, 4, 7, 8, 16, 32, 64, 128, 256, 512}), n = one_of(rng, kSizes),
            k = one_of(rng, kSizes);
  const bool transposed = rng.below(2) == 0, wide = rng.below(4) == 0;
  const char* type = rng.below(2) == 0 ? "f32" : "bf16";
  Drawn drawn{.text = {}, .flops = 2.0 * m * n * k, .bytes = 4.0 * n * k};
  drawn.text =
      program(array_of(type, {m, k}), array_of(type, transposed ? std::vector{n, k} : std::vector{k, n}),
              array_of(wide ? "f32" : type, {m, n}),
              fmt::format("dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{{}}}", transposed ? 1 : 0));
  return drawn;
}

Drawn of_networks(Rng& rng) { return rng.below(3) == 0 ? plain_dot(rng) : plain_convolution(rng); }

constexpr DrawnFamily kFamilies[] = {
    {"networks", of_networks, kMostFlops, true},
    {"strided", strided_convolution, kMostFlops, true},
    {"dilated", dilated_convolution, kMostFlops, true},
    {"grouped", grouped_convolution, 1e8, true},
    {"depthwise", depthwise_convolution, 4e7, true},
    {"gradient-of-weights", dense_gradient, kMostFlops, false},
    {"depthwise-gradient", depthwise_gradient, 4e7, false},
    {"gradient-of-inputs", gradient_of_inputs, kMostFlops, true},
    {"volume", volume_convolution, 3e8, true},
    {"other-types", convolution_of_other_types, kMostFlops, true},
    {"f32-dot", f32_dot, kMostFlops, true},
    {"bf16-dot", bf16_dot, kMostFlops, true},
    {"f16-dot", f16_dot, kMostFlops, true},
    {"byte-weights", dot_of_byte_weights, kMostFlops, true},
    {"small-dots", small_dots, 1e8, false},
    {"byte-dot", dot_of_bytes, 1.5e8, true},
};

}  // namespace

std::span<const DrawnFamily> drawn_families() { return kFamilies; }

const DrawnFamily& drawn_family(const std::string& name) {
  const auto* found =
      std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const DrawnFamily& f) { return f.name == name; });
  if (found == std::end(kFamilies)) throw Error("no family of operations", name);
  return *found;
}

std::string draw(const DrawnFamily& family, Rng& rng) {
  for (;;) {
    const Drawn drawn = family.draw(rng);
    const bool fits = !drawn.text.empty() && drawn.flops >= kLeastFlops && drawn.flops <= family.most_flops &&
                      drawn.bytes <= kMostBytes;
    if (fits) return drawn.text;
  }
}

}  // namespace hone::bench
