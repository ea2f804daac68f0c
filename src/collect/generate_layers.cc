#include "collect/generate_layers.h"

#include <cmath>
#include <iterator>
#include <vector>

namespace hone::collect {

namespace {

constexpr double kLargestFlops = 4e8;  // of one layer: larger ones only make measuring slow

Value square(HloText& text, const Value& a) { return text.binary("multiply", a, a); }
Value absolute(HloText& text, const Value& a) { return text.unary("abs", a); }

int64_t last(const Value& a) { return a.dims.back(); }
int64_t rows(const Value& a) { return static_cast<int64_t>(elements(a.dims)) / last(a); }

Dims all_but_last(const Value& a) {
  Dims dimensions;
  for (int64_t i = 0; i + 1 < a.rank(); ++i) dimensions.push_back(i);
  return dimensions;
}

Value row(HloText& text, const Value& like) {  // a bias or scale along the last dimension
  return text.broadcast(text.parameter(like.type, {last(like)}), like.dims, {like.rank() - 1});
}

// Reduces along the last dimension and broadcasts back to the full shape.
Value spread(HloText& text, const std::string& opcode, const Value& a) {
  return text.broadcast(text.reduce(opcode, a, {a.rank() - 1}), a.dims, all_but_last(a));
}

Value mean(HloText& text, const Value& a) {
  return text.scalar_binary("multiply", spread(text, "add", a), 1.0 / static_cast<double>(last(a)));
}

Value softmax(HloText& text, const Value& a) {
  const Value shifted = text.binary("subtract", a, spread(text, "maximum", a));
  const Value exponential = text.unary("exponential", shifted, 0);
  return text.binary("divide", exponential, spread(text, "add", exponential));
}

// Layers take [..., features] and return the same rank; sizes may change.
using Layer = Value (*)(HloText& text, const Value& x, Rng& rng);

Value layer_norm(HloText& text, const Value& x, Rng& rng) {
  Value centred = x;
  if (rng.uniform() < 0.7) centred = text.binary("subtract", x, mean(text, x));  // without: RMSNorm
  const Value variance = mean(text, square(text, centred));
  Value inverse = text.unary("rsqrt", text.scalar_binary("add", variance, 1e-3), 5);
  Value normal = text.binary("multiply", centred, inverse);
  normal.log_max = 4;
  normal = text.binary("multiply", normal, row(text, x));
  return rng.uniform() < 0.7 ? text.binary("add", normal, row(text, x)) : normal;
}

Value softmax_layer(HloText& text, const Value& x, Rng&) { return softmax(text, x); }

Value activation(HloText& text, const Value& x, Rng& rng) {
  switch (rng.below(5)) {
    case 0:
      return text.scalar_binary("maximum", x, 0);
    case 1:
      return text.binary("multiply", x, text.unary("logistic", x, 0));
    case 2:
      return text.unary("tanh", x, 0);
    case 3: {  // GELU by tanh
      const Value cube = text.scalar_binary("multiply", text.binary("multiply", x, square(text, x)), 0.044715);
      const Value inner = text.scalar_binary("multiply", text.binary("add", x, cube), 0.7978845608);
      const Value gate = text.scalar_binary("add", text.unary("tanh", inner, 0), 1);
      return text.scalar_binary("multiply", text.binary("multiply", x, gate), 0.5);
    }
    default: {  // GELU by erf
      const Value gate = text.unary("erf", text.scalar_binary("multiply", x, 0.7071067812), 0);
      return text.binary("multiply", text.scalar_binary("multiply", x, 0.5), text.scalar_binary("add", gate, 1));
    }
  }
}

Value project(HloText& text, const Value& x, int64_t width) {
  return text.dot(x, text.parameter(x.type, {last(x), width}), 0, 0);
}

int64_t random_width(const Value& x, Rng& rng) {
  static constexpr int64_t kWidths[] = {32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 512, 768, 1024, 1536};
  const double most = kLargestFlops / 2 / elements(x.dims);
  int64_t width = kWidths[rng.below(std::size(kWidths))];
  while (static_cast<double>(width) > most && width > 8) width /= 2;
  return width;
}

Value dense(HloText& text, const Value& x, Rng& rng) {
  const Value y = project(text, x, random_width(x, rng));
  return activation(text, text.binary("add", y, row(text, y)), rng);
}

Value gated(HloText& text, const Value& x, Rng& rng) {
  const int64_t width = random_width(x, rng);
  const Value gate = activation(text, project(text, x, width), rng);
  const Value wide = text.binary("multiply", gate, project(text, x, width));
  return text.binary("add", x, project(text, wide, last(x)));
}

// Attention over the rows, in `heads` heads, with a residual.
Value attention(HloText& text, const Value& x, Rng& rng) {
  const int64_t length = rows(x), width = last(x);
  const int64_t heads = width % 8 == 0 && rng.uniform() < 0.6 ? 4 : 1, depth = width / heads;
  if (static_cast<double>(length) * length * width * 4 > kLargestFlops || heads * depth != width || length < 2)
    return layer_norm(text, x, rng);
  const Value flat = text.reshape(x, {length, width});
  std::vector<Value> parts;
  for (int i = 0; i < 3; ++i)
    parts.push_back(text.transpose(text.reshape(project(text, flat, width), {length, heads, depth}), {1, 0, 2}));
  Value scores = text.dot(parts[0], parts[1], 1, 2);  // [heads, length, length]
  scores = text.scalar_binary("multiply", scores, 1 / std::sqrt(static_cast<double>(depth)));
  if (rng.uniform() < 0.4) {  // causal
    const Value before = text.compare("GE", text.iota("s32", scores.dims, 1), text.iota("s32", scores.dims, 2));
    scores = text.select(before, scores, text.broadcast(text.constant(scores.type, -1e9), scores.dims, {}));
    scores.log_max = 20;
  }
  const Value mixed = text.dot(softmax(text, scores), parts[2], 1, 1);  // [heads, length, depth]
  const Value merged = text.reshape(text.transpose(mixed, {1, 0, 2}), {length, width});
  return text.binary("add", x, text.reshape(project(text, merged, width), x.dims));
}

Value convolution(HloText& text, const Value& x, Rng& rng) {
  static constexpr int64_t kSizes[] = {1, 3, 3, 5};
  if (x.rank() != 4) return dense(text, x, rng);
  const int64_t size = kSizes[rng.below(std::size(kSizes))], channels = last(x);
  const bool depthwise = rng.uniform() < 0.25;
  int64_t out = depthwise ? channels : int64_t{1} << (3 + rng.below(6));
  const int64_t stride = x.dims[1] > 8 && x.dims[2] > 8 && rng.uniform() < 0.25 ? 2 : 1;
  while (2 * elements(x.dims) * static_cast<double>(size * size * out) > kLargestFlops && out > 8 && !depthwise)
    out /= 2;
  const Value kernel = text.parameter(x.type, {size, size, depthwise ? 1 : channels, out});
  const Value y = text.convolution(x, kernel, stride, depthwise ? channels : 1);
  // Batch normalisation at inference: a scale and a shift.
  return activation(text, text.binary("add", text.binary("multiply", y, row(text, y)), row(text, y)), rng);
}

Value pool(HloText& text, const Value& x, Rng& rng) {  // squeeze and excite
  if (x.rank() < 3) return softmax(text, x);
  Dims middle;
  for (int64_t i = 1; i + 1 < x.rank(); ++i) middle.push_back(i);
  const Value squeezed = text.reduce(rng.uniform() < 0.5 ? "add" : "maximum", x, middle);  // [batch, features]
  const Value gate = text.unary("logistic", project(text, squeezed, last(x)), 0);
  return text.binary("multiply", x, text.broadcast(gate, x.dims, {0, x.rank() - 1}));
}

Value elementwise(HloText& text, const Value& x, Rng& rng) {
  Value y = x;
  for (int64_t i = 1 + rng.below(6); i > 0; --i)
    y = rng.uniform() < 0.6 ? random_unary(text, y, rng)
                            : random_binary(text, y, rng.uniform() < 0.5 ? x : row(text, y), rng);
  return text.binary("add", x, y);
}

// Rotates pairs of features from the two halves, as in rotary position embeddings.
Value rotate(HloText& text, const Value& x, Rng& rng) {
  const int64_t width = last(x);
  if (width % 2 != 0) return layer_norm(text, x, rng);
  Dims starts(x.rank(), 0), limits = x.dims, ones(x.rank(), 1);
  limits.back() = width / 2;
  const Value low = text.slice(x, starts, limits, ones);
  starts.back() = width / 2;
  limits.back() = width;
  const Value high = text.slice(x, starts, limits, ones);
  const Value turned = text.concatenate(text.unary("negate", high), low, x.rank() - 1);
  const Value angle = text.parameter(x.type, x.dims);
  return text.binary("add", text.binary("multiply", x, text.unary("cosine", angle, 0)),
                     text.binary("multiply", turned, text.unary("sine", angle, 0)));
}

constexpr Layer kLayers[] = {layer_norm,  softmax_layer, dense,       gated, attention,
                             convolution, pool,          elementwise, rotate};
constexpr Layer kImageLayers[] = {convolution, convolution, convolution, pool, elementwise, layer_norm};

Value input(HloText& text, bool image, Rng& rng) {
  static constexpr int64_t kTokens[] = {1, 7, 16, 32, 50, 64, 96, 128, 197, 256, 384, 512};
  static constexpr int64_t kFeatures[] = {32, 48, 64, 96, 100, 128, 192, 256, 300, 384, 512, 640, 768};
  static constexpr int64_t kSides[] = {7, 8, 14, 16, 28, 32, 56};
  const std::string type = rng.uniform() < 0.9 ? "f32" : "bf16";
  const int64_t batch = int64_t{1} << rng.below(4);
  if (image) {
    const int64_t side = kSides[rng.below(std::size(kSides))];
    return text.parameter(type, {batch, side, side, int64_t{8} << rng.below(4)});
  }
  const int64_t features = kFeatures[rng.below(std::size(kFeatures))], tokens = kTokens[rng.below(std::size(kTokens))];
  if (rng.uniform() < 0.4) return text.parameter(type, {batch * tokens, features});
  return text.parameter(type, {batch, tokens, features});
}

}  // namespace

Value random_unary(HloText& text, const Value& a, Rng& rng) {
  if (!a.is_float()) {
    static constexpr const char* kIntegerOps[] = {"negate", "abs", "not", "sign"};
    return text.unary(kIntegerOps[rng.below(std::size(kIntegerOps))], a);
  }
  switch (rng.below(16)) {
    case 0:
      return text.unary("negate", a);
    case 1:
      return absolute(text, a);
    case 2:
      return text.unary("exponential", text.unary("negate", absolute(text, a)), 0);
    case 3:
      return text.unary("log", text.scalar_binary("add", absolute(text, a), 1), 5);
    case 4:
      return text.unary("sqrt", text.scalar_binary("add", absolute(text, a), 1e-3));
    case 5:
      return text.unary("rsqrt", text.scalar_binary("add", square(text, a), 0.01), 4);
    case 6:
      return text.unary("logistic", a, 0);
    case 7:
      return text.unary("sine", text.clamp(-30, a, 30), 0);
    case 8:
      return text.unary("cosine", text.clamp(-30, a, 30), 0);
    case 9:
      return text.unary("erf", a, 0);
    case 10:
      return text.unary("cbrt", a);
    case 11:
      return text.unary("floor", a, a.log_max + 1);
    case 12:
      return text.unary("log-plus-one", absolute(text, a), 5);
    case 13:
      return text.unary("exponential-minus-one", text.clamp(-4, a, 4), 6);
    default:
      return text.unary("tanh", a, 0);
  }
}

Value random_binary(HloText& text, const Value& a, const Value& b, Rng& rng) {
  static constexpr const char* kOps[] = {"add", "add", "add", "multiply", "multiply", "subtract", "maximum", "minimum"};
  static constexpr const char* kIntegerOps[] = {"add",     "multiply", "subtract", "maximum",
                                                "minimum", "and",      "or",       "xor"};
  if (!a.is_float()) return text.binary(kIntegerOps[rng.below(std::size(kIntegerOps))], a, b);
  const int64_t which = rng.below(std::size(kOps) + 2);
  if (which < static_cast<int64_t>(std::size(kOps))) return text.binary(kOps[which], a, b);
  const Value divisor = text.scalar_binary("add", absolute(text, b), 0.5);
  if (which == std::size(kOps)) return text.binary("divide", a, divisor);
  return text.unary("tanh", text.binary("multiply", text.unary("exponential", text.clamp(-3, a, 3), 5), b), 0);
}

std::string generate_layers(const std::string& name, double max_elements, Rng& rng) {
  HloText text;
  const bool image = rng.uniform() < 0.3;
  Value x = input(text, image, rng);
  for (int64_t layers = 2 + rng.below(7); layers > 0; --layers) {
    const Layer layer =
        image ? kImageLayers[rng.below(std::size(kImageLayers))] : kLayers[rng.below(std::size(kLayers))];
    if (2 * elements(x.dims) > max_elements) break;
    x = layer(text, x, rng);
  }
  if (rng.uniform() < 0.3) x = text.reduce("add", x, {x.rank() - 1});
  return text.module(name, {x});
}

}  // namespace hone::collect
