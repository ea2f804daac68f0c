#include <algorithm>

#include "operations/draw_parts.h"

namespace hone::bench {
namespace {

struct Dot {
  std::string left = "f32", right = "f32", result = "f32";  // types
  int batch = 0;                                            // 0 = no such dimension
  int m = 1, n = 1, k = 1;
  bool left_turned = false, right_turned = false;  // k before m, n before k
  bool converted = false;                          // the right operand, to f32
};

Drawn drawn_of(const Dot& d) {
  const auto sizes = [&](int first, int second, bool turned) {
    std::vector<int> all = turned ? std::vector{second, first} : std::vector{first, second};
    if (d.batch > 0) all.insert(all.begin(), d.batch);
    return all;
  };
  const int rank = d.batch > 0 ? 1 : 0;
  const double each = std::max(1, d.batch);
  const std::string batches = d.batch > 0 ? "lhs_batch_dims={0}, rhs_batch_dims={0}, " : "";
  const std::string right = array_of(d.right, sizes(d.k, d.n, d.right_turned));
  Drawn drawn{.text = {},
              .flops = 2 * each * d.m * d.n * d.k,
              .bytes = 4 * each * (1.0 * d.m * d.k + 1.0 * d.n * d.k + 1.0 * d.m * d.n)};
  drawn.text = program(
      array_of(d.left, sizes(d.m, d.k, d.left_turned)), right, array_of(d.result, sizes(d.m, d.n, false)),
      fmt::format("dot(a, {}), {}lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}", d.converted ? "w" : "b",
                  batches, rank + (d.left_turned ? 0 : 1), rank + (d.right_turned ? 1 : 0)));
  if (d.converted)
    drawn.text.insert(drawn.text.find("  ROOT"), "  w = f32" + right.substr(right.find('[')) + " convert(b)\n");
  return drawn;
}

// A fully connected layer's, or its gradients'.
Dot layer(Rng& rng, const std::string& type) {
  constexpr std::array kDepths = {32,  48,  64,   96,   100,  128,  192,  197,  256,  320,  384,  500,
                                  512, 768, 1000, 1024, 1152, 1536, 2048, 3072, 4096, 8192, 10944};
  Dot d{.left = type, .right = type, .result = rng.below(6) == 0 ? "f32" : type};
  d.m = one_of(rng, std::array{1, 1, 1, 2, 3, 4, 5, 7, 8, 14, 16, 32, 50, 64, 100, 128, 192, 197, 256, 512, 1024});
  d.n = one_of(rng, kDepths);
  d.k = one_of(rng, kDepths);
  d.left_turned = rng.below(6) == 0;
  d.right_turned = rng.below(2) == 0;
  return d;
}

}  // namespace

Drawn f32_dot(Rng& rng) { return drawn_of(layer(rng, "f32")); }

Drawn f16_dot(Rng& rng) { return drawn_of(layer(rng, "f16")); }

// One in four is a batch of products, as in attention.
Drawn bf16_dot(Rng& rng) {
  Dot d = layer(rng, "bf16");
  if (rng.below(4) != 0) return drawn_of(d);
  constexpr std::array kSides = {1, 14, 32, 64, 128, 197, 256, 512};
  d.batch = one_of(rng, std::array{2, 4, 8, 12, 16, 32, 64});
  d.m = one_of(rng, kSides);
  d.n = one_of(rng, kSides);
  d.k = one_of(rng, std::array{32, 64, 64, 128, 197, 256});
  d.left_turned = false;
  return drawn_of(d);
}

Drawn dot_of_byte_weights(Rng& rng) {
  Dot d = layer(rng, "f32");
  d.right = "s8";
  d.converted = true;
  d.m = 1 + static_cast<int>(rng.below(4));
  return drawn_of(d);
}

Drawn small_dots(Rng& rng) {
  constexpr std::array kSides = {1, 2, 3, 4, 8, 8, 16, 16, 32, 64};
  Dot d{.batch = one_of(rng, std::array{64, 96, 128, 256, 512, 1024, 2048, 4096, 8192})};
  if (rng.below(6) == 0) d.left = d.right = d.result = "f64";
  d.m = one_of(rng, kSides);
  d.n = one_of(rng, kSides);
  d.k = one_of(rng, std::array{2, 3, 4, 8, 8, 16, 16, 24, 32});
  d.left_turned = rng.below(4) == 0;
  d.right_turned = rng.below(3) == 0;
  return drawn_of(d);
}

Drawn dot_of_bytes(Rng& rng) {
  Dot d = layer(rng, "s8");
  d.result = "s32";
  return drawn_of(d);
}

}  // namespace hone::bench
