#include <algorithm>
#include <map>

#include "operations/draw_parts.h"

namespace hone::bench {
namespace {

struct Axis {
  int size = 1, window = 1, stride = 1, dilation = 1, low = 0, high = 0;
  bool reversed = false;
  int out() const { return (size + low + high - (window - 1) * dilation - 1) / stride + 1; }
};

struct Convolution {
  std::string type = "f32";
  int batch = 1, in = 1, out = 1;  // in: of a group
  int groups = 1, batch_groups = 1;
  std::vector<Axis> axes = {};
  std::string left = {}, right = {}, result = {};  // labels
};

// In JAX's order of dimensions or in PyTorch's. `exchanged`: the features of the window, as in gradients of inputs.
void order(Convolution& c, bool jax, bool exchanged) {
  const std::string digits = std::string("012").substr(0, c.axes.size());
  c.left = c.result = jax ? "b" + digits + "f" : "bf" + digits;
  const std::string features = jax != exchanged ? "io" : "oi";
  c.right = jax ? digits + features : features + digits;
}

std::vector<int> in_order(const std::string& labels, const std::map<char, int>& sizes) {
  std::vector<int> ordered;
  for (const char label : labels) ordered.push_back(sizes.at(label));
  return ordered;
}

Drawn drawn_of(const Convolution& c) {
  std::map<char, int> left = {{'b', c.batch}, {'f', c.in * c.groups}}, right = {{'i', c.in}, {'o', c.out}},
                      result = {{'b', c.batch / c.batch_groups}, {'f', c.out}};
  Drawn drawn{.text = {}, .flops = 2.0 * result['b'] * c.out * c.in, .bytes = 0};
  std::vector<std::string> sizes, strides, pads, dilations, reversals;
  for (size_t i = 0; i < c.axes.size(); ++i) {
    const Axis& a = c.axes[i];
    if (a.size + a.low + a.high < (a.window - 1) * a.dilation + 1) return {};
    const char digit = static_cast<char>('0' + i);
    left[digit] = a.size;
    right[digit] = a.window;
    result[digit] = a.out();
    drawn.flops *= a.out() * a.window;
    sizes.push_back(std::to_string(a.window));
    strides.push_back(std::to_string(a.stride));
    pads.push_back(fmt::format("{}_{}", a.low, a.high));
    dilations.push_back(std::to_string(a.dilation));
    reversals.push_back(a.reversed ? "1" : "0");
  }
  for (const auto* array : {&left, &right, &result}) {
    double elements = 4;
    for (const auto& [label, size] : *array) elements *= size;
    drawn.bytes += elements;
  }
  drawn.text = program(
      array_of(c.type, in_order(c.left, left)), array_of(c.type, in_order(c.right, right)),
      array_of(c.type, in_order(c.result, result)),
      fmt::format("convolution(a, b), window={{size={} stride={} pad={} rhs_dilate={} rhs_reversal={}}}, "
                  "dim_labels={}_{}->{}, feature_group_count={}, batch_group_count={}",
                  fmt::join(sizes, "x"), fmt::join(strides, "x"), fmt::join(pads, "x"), fmt::join(dilations, "x"),
                  fmt::join(reversals, "x"), c.left, c.right, c.result, c.groups, c.batch_groups));
  return drawn;
}

int image_size(Rng& rng) { return one_of(rng, std::array{4, 7, 8, 10, 14, 16, 20, 28, 28, 32, 56, 56, 64, 112, 224}); }
int length(Rng& rng) { return one_of(rng, std::array{16, 32, 50, 64, 100, 200, 256, 400, 512, 1000, 1500, 4000}); }
int images(Rng& rng) { return one_of(rng, std::array{1, 1, 1, 2, 4, 8, 16}); }

// One of `types` mostly f32.
std::string some_type(Rng& rng, int one_in) {
  if (rng.below(one_in) != 0) return "f32";
  return rng.below(2) == 0 ? "bf16" : "f16";
}

// One spatial dimension of `window`, as frameworks pad it ("same") or not at all.
Axis axis_of(int size, int window, int stride, int dilation, bool same) {
  const int reach = (window - 1) * dilation;
  return {.size = size,
          .window = window,
          .stride = stride,
          .dilation = dilation,
          .low = same ? reach / 2 : 0,
          .high = same ? reach - reach / 2 : 0};
}

// One in `flat` has one spatial dimension.
void set_axes(Convolution& c, Rng& rng, const Axis& like, int flat) {
  const bool same = rng.below(5) != 0, one = rng.below(flat) == 0;
  c.axes = {axis_of(one ? length(rng) : image_size(rng), like.window, like.stride, like.dilation, same)};
  if (!one) c.axes.push_back(c.axes[0]);
}

}  // namespace

Drawn strided_convolution(Rng& rng) {
  Convolution c{.type = some_type(rng, 6), .batch = images(rng), .in = rng.below(8) == 0 ? 3 : features_of(rng)};
  c.out = rng.below(2) == 0 ? std::max(c.in, 8) : features_of(rng);
  set_axes(
      c, rng,
      {.window = one_of(rng, std::array{1, 2, 3, 3, 3, 4, 5, 7}), .stride = one_of(rng, std::array{2, 2, 2, 2, 3, 4})},
      8);
  order(c, rng.below(4) != 0, false);
  return drawn_of(c);
}

Drawn dilated_convolution(Rng& rng) {
  Convolution c{.type = some_type(rng, 6), .batch = images(rng), .in = features_of(rng)};
  c.out = rng.below(2) == 0 ? c.in : features_of(rng);
  set_axes(c, rng,
           {.window = one_of(rng, std::array{2, 3, 3, 3, 5}), .dilation = one_of(rng, std::array{2, 2, 2, 3, 4})}, 4);
  order(c, rng.below(4) != 0, false);
  return drawn_of(c);
}

Drawn grouped_convolution(Rng& rng) {
  Convolution c{.type = some_type(rng, 8),
                .batch = images(rng),
                .in = one_of(rng, std::array{2, 4, 4, 8, 8, 16, 32, 64}),
                .groups = one_of(rng, std::array{2, 4, 8, 16, 32, 32})};
  c.out = c.groups * (rng.below(2) == 0 ? c.in : one_of(rng, std::array{1, 4, 8, 16, 32, 64}));
  set_axes(c, rng, {.window = one_of(rng, std::array{1, 3, 3, 3, 3, 5}), .stride = one_of(rng, std::array{1, 1, 1, 2})},
           6);
  order(c, rng.below(4) != 0, false);
  return drawn_of(c);
}

Drawn depthwise_convolution(Rng& rng) {
  Convolution c{.type = some_type(rng, 4), .batch = images(rng), .in = 1, .groups = features_of(rng)};
  c.out = c.groups * (rng.below(6) == 0 ? 2 : 1);
  set_axes(c, rng, {.window = one_of(rng, std::array{3, 3, 3, 3, 5, 7}), .stride = one_of(rng, std::array{1, 1, 1, 2})},
           6);
  order(c, rng.below(4) != 0, false);
  return drawn_of(c);
}

namespace {

// Of the weights of a convolution without strides: images and features are exchanged, and the window is the gradient of its result.
Convolution gradient_of_weights(Rng& rng, int window) {
  const bool jax = rng.below(4) != 0, one = rng.below(6) == 0;
  Convolution c{.type = some_type(rng, 8)};
  Axis axis = axis_of(one ? length(rng) : image_size(rng), window, 1, 1, rng.below(5) != 0);
  axis.window = axis.out();
  c.axes = {axis};
  if (!one) c.axes.push_back(axis);
  const std::string digits = std::string("01").substr(0, c.axes.size());
  c.left = jax ? "f" + digits + "b" : "fb" + digits;
  c.right = jax ? "i" + digits + "o" : "io" + digits;
  c.result = jax ? digits + "bf" : "fb" + digits;
  return c;
}

}  // namespace

Drawn dense_gradient(Rng& rng) {
  Convolution c = gradient_of_weights(rng, one_of(rng, std::array{2, 3, 3, 3, 3, 4, 5, 7}));
  c.in = one_of(rng, std::array{1, 1, 2, 4, 8, 16, 32});
  c.batch = rng.below(8) == 0 ? 3 : features_of(rng);
  c.out = rng.below(2) == 0 ? std::max(c.batch, 8) : features_of(rng);
  return drawn_of(c);
}

Drawn depthwise_gradient(Rng& rng) {
  Convolution c = gradient_of_weights(rng, one_of(rng, std::array{3, 3, 3, 5, 7}));
  c.in = one_of(rng, std::array{1, 1, 2, 4, 8, 16});
  c.batch = c.out = c.batch_groups = features_of(rng);
  return drawn_of(c);
}

Drawn gradient_of_inputs(Rng& rng) {
  Convolution c{.type = some_type(rng, 8), .batch = images(rng), .in = features_of(rng)};
  c.out = rng.below(2) == 0 ? c.in : features_of(rng);
  set_axes(c, rng, {.window = one_of(rng, std::array{2, 3, 3, 3, 4, 5})}, 8);
  for (Axis& a : c.axes) a.reversed = true;
  order(c, rng.below(4) != 0, true);
  return drawn_of(c);
}

Drawn volume_convolution(Rng& rng) {
  const int depth = one_of(rng, std::array{4, 8, 16, 16, 32}), size = one_of(rng, std::array{7, 8, 14, 16, 28, 32}),
            window = one_of(rng, std::array{1, 2, 3, 3, 3, 5}), stride = one_of(rng, std::array{1, 1, 1, 2});
  const bool same = rng.below(4) != 0;
  Convolution c{.batch = one_of(rng, std::array{1, 1, 2}),
                .in = one_of(rng, std::array{1, 3, 8, 16, 32, 32, 64, 64, 128})};
  c.out = one_of(rng, std::array{8, 16, 32, 32, 64, 64, 128});
  c.axes = {axis_of(depth, window, stride, 1, same), axis_of(size, window, stride, 1, same),
            axis_of(size, window, stride, 1, same)};
  order(c, rng.below(3) != 0, false);
  return drawn_of(c);
}

Drawn convolution_of_other_types(Rng& rng) {
  constexpr std::array kTypes = {"bf16", "bf16", "f16", "f16", "f64"};
  Convolution c{.type = kTypes[rng.below(kTypes.size())], .batch = images(rng), .in = features_of(rng)};
  c.out = rng.below(2) == 0 ? c.in : features_of(rng);
  set_axes(c, rng, {.window = one_of(rng, std::array{2, 3, 3, 3, 3, 5})}, 8);
  order(c, rng.below(4) != 0, false);
  return drawn_of(c);
}

}  // namespace hone::bench
