#include "collect/hlo_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hone::collect {

namespace {

constexpr double kSafeLogMax = 20;  // 2^20: products of a few such values stay far from overflow

std::string list(const Dims& dims) { return fmt::format("{}", fmt::join(dims, ",")); }
std::string shape_text(const std::string& type, const Dims& dims) { return fmt::format("{}[{}]", type, list(dims)); }

}  // namespace

double elements(const Dims& dims) {
  double product = 1;
  for (int64_t d : dims) product *= static_cast<double>(d);
  return product;
}

Value HloText::add(const std::string& opcode, const std::string& operands, const Value& shape,
                   const std::string& attributes) {
  Value value = shape;
  value.name = fmt::format("v{}", count_++);
  largest_ = std::max(largest_, elements(value.dims));
  body_ +=
      fmt::format("  {} = {} {}({}){}\n", value.name, shape_text(value.type, value.dims), opcode, operands, attributes);
  return value;
}

Value HloText::safe(Value value) {
  if (!value.is_float() || value.log_max <= kSafeLogMax) return value;
  // Scales by a power of two.
  return scalar_binary("multiply", value, std::exp2(3 - std::ceil(value.log_max)));
}

Value HloText::parameter(const std::string& type, const Dims& dims) {
  return add("parameter", std::to_string(parameters_++), {"", type, dims, 3});
}

Value HloText::constant(const std::string& type, double value) {
  const bool is_float = type == "f32" || type == "bf16";
  const std::string text = is_float ? fmt::format("{:g}", value) : fmt::format("{}", static_cast<int64_t>(value));
  return add("constant", text,
             {"",
              type,
              {},
              is_float && value != 0 ? std::log2(std::fabs(value)) : std::log2(std::max(1.0, std::fabs(value)))});
}

Value HloText::iota(const std::string& type, const Dims& dims, int64_t dimension) {
  const double log_max = std::log2(static_cast<double>(dims.at(dimension)) + 1);
  return add("iota", "", {"", type, dims, log_max}, fmt::format(", iota_dimension={}", dimension));
}

Value HloText::unary(const std::string& opcode, const Value& a, double log_max) {
  return add(opcode, a.name, {"", a.type, a.dims, log_max < 0 ? a.log_max : log_max});
}

Value HloText::binary(const std::string& opcode, const Value& a, const Value& b) {
  if (a.dims != b.dims || a.type != b.type) throw InternalError("operands of " + opcode + " differ in shape");
  double log_max = std::max(a.log_max, b.log_max);
  if (opcode == "add" || opcode == "subtract") log_max += 1;
  if (opcode == "multiply") log_max = a.log_max + b.log_max;
  return safe(add(opcode, a.name + ", " + b.name, {"", a.type, a.dims, log_max}));
}

Value HloText::scalar_binary(const std::string& opcode, const Value& a, double scalar) {
  return binary(opcode, a, broadcast(constant(a.type, scalar), a.dims, {}));
}

Value HloText::compare(const std::string& direction, const Value& a, const Value& b) {
  return add("compare", a.name + ", " + b.name, {"", "pred", a.dims, 0}, ", direction=" + direction);
}

Value HloText::select(const Value& predicate, const Value& a, const Value& b) {
  return add("select", predicate.name + ", " + a.name + ", " + b.name,
             {"", a.type, a.dims, std::max(a.log_max, b.log_max)});
}

Value HloText::clamp(double low, const Value& a, double high) {
  // Bounds are broadcast: with scalar ones XLA:CPU's tiled emitter aborts ("Failed to infer result type(s)").
  const Value least = broadcast(constant(a.type, low), a.dims, {}),
              most = broadcast(constant(a.type, high), a.dims, {});
  const double log_max = std::max(least.log_max, most.log_max);
  return add("clamp", least.name + ", " + a.name + ", " + most.name, {"", a.type, a.dims, log_max});
}

Value HloText::convert(const std::string& type, const Value& a) {
  return add("convert", a.name, {"", type, a.dims, a.log_max});
}

Value HloText::broadcast(const Value& a, const Dims& dims, const Dims& dimensions) {
  return add("broadcast", a.name, {"", a.type, dims, a.log_max}, ", dimensions={" + list(dimensions) + "}");
}

Value HloText::transpose(const Value& a, const Dims& permutation) {
  Dims dims;
  for (int64_t p : permutation) dims.push_back(a.dims.at(p));
  return add("transpose", a.name, {"", a.type, dims, a.log_max}, ", dimensions={" + list(permutation) + "}");
}

Value HloText::reshape(const Value& a, const Dims& dims) {
  return add("reshape", a.name, {"", a.type, dims, a.log_max});
}

Value HloText::reverse(const Value& a, int64_t dimension) {
  return add("reverse", a.name, {"", a.type, a.dims, a.log_max}, fmt::format(", dimensions={{{}}}", dimension));
}

Value HloText::slice(const Value& a, const Dims& starts, const Dims& limits, const Dims& strides) {
  Dims dims;
  std::string ranges;
  for (int i = 0; i < a.rank(); ++i) {
    dims.push_back((limits[i] - starts[i] + strides[i] - 1) / strides[i]);
    ranges += fmt::format("{}[{}:{}:{}]", i ? ", " : "", starts[i], limits[i], strides[i]);
  }
  return add("slice", a.name, {"", a.type, dims, a.log_max}, ", slice={" + ranges + "}");
}

Value HloText::pad(const Value& a, const Dims& low, const Dims& high) {
  const Value zero = constant(a.type, 0);
  Dims dims;
  std::string padding;
  for (int i = 0; i < a.rank(); ++i) {
    dims.push_back(a.dims[i] + low[i] + high[i]);
    padding += fmt::format("{}{}_{}", i ? "x" : "", low[i], high[i]);
  }
  return add("pad", a.name + ", " + zero.name, {"", a.type, dims, a.log_max}, ", padding=" + padding);
}

Value HloText::concatenate(const Value& a, const Value& b, int64_t dimension) {
  Dims dims = a.dims;
  dims.at(dimension) += b.dims.at(dimension);
  return add("concatenate", a.name + ", " + b.name, {"", a.type, dims, std::max(a.log_max, b.log_max)},
             fmt::format(", dimensions={{{}}}", dimension));
}

std::string HloText::computation(const std::string& opcode, const std::string& type) {
  const std::string name = opcode + "_" + type;
  if (known_.insert(name).second)
    computations_ +=
        fmt::format("{0} {{\n  a = {1}[] parameter(0)\n  b = {1}[] parameter(1)\n  ROOT c = {1}[] {2}(a, b)\n}}\n\n",
                    name, type, opcode);
  return name;
}

Value HloText::reduce(const std::string& opcode, const Value& a, const Dims& dimensions) {
  const bool is_float = a.is_float();
  const double start = opcode == "add" ? 0 : (opcode == "maximum" ? -1.0 : 1.0) * (is_float ? 1e30 : 2e9);
  const Value init = constant(a.type, start);
  Dims kept;
  double reduced = 1;
  for (int64_t i = 0; i < a.rank(); ++i) {
    const bool gone = std::find(dimensions.begin(), dimensions.end(), i) != dimensions.end();
    if (gone)
      reduced *= static_cast<double>(a.dims[i]);
    else
      kept.push_back(a.dims[i]);
  }
  const double log_max = a.log_max + (opcode == "add" ? std::log2(reduced) : 0);
  return safe(add("reduce", a.name + ", " + init.name, {"", a.type, kept, log_max},
                  fmt::format(", dimensions={{{}}}, to_apply={}", list(dimensions), computation(opcode, a.type))));
}

Value HloText::dot(const Value& lhs, const Value& rhs, int64_t batch, int64_t contracting) {
  Dims dims(lhs.dims.begin(), lhs.dims.end() - 1), both;
  for (int64_t i = 0; i < batch; ++i) both.push_back(i);
  for (int64_t i = batch; i < rhs.rank(); ++i)
    if (i != contracting) dims.push_back(rhs.dims[i]);
  std::string attributes;
  if (batch > 0) attributes += fmt::format(", lhs_batch_dims={{{0}}}, rhs_batch_dims={{{0}}}", list(both));
  attributes += fmt::format(", lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}", lhs.rank() - 1, contracting);
  // A sum of random terms grows with the square root of their number.
  const double log_max = lhs.log_max + rhs.log_max + 0.5 * std::log2(static_cast<double>(lhs.dims.back()));
  return safe(add("dot", lhs.name + ", " + rhs.name, {"", lhs.type, dims, log_max}, attributes));
}

Value HloText::convolution(const Value& input, const Value& kernel, int64_t stride, int64_t groups) {
  Dims dims = input.dims;
  std::string size, pad, strides;
  double taps = 1;
  for (int i = 0; i < 2; ++i) {
    const int64_t k = kernel.dims[i], in = input.dims[i + 1], out = (in + stride - 1) / stride;
    const int64_t total = std::max<int64_t>(0, (out - 1) * stride + k - in);  // "same" padding
    const char* x = i ? "x" : "";
    size += fmt::format("{}{}", x, k);
    pad += fmt::format("{}{}_{}", x, total / 2, total - total / 2);
    strides += fmt::format("{}{}", x, stride);
    dims[i + 1] = out;
    taps *= static_cast<double>(k);
  }
  dims[3] = kernel.dims[3];
  std::string attributes =
      fmt::format(", window={{size={} stride={} pad={}}}, dim_labels=b01f_01io->b01f", size, strides, pad);
  if (groups > 1) attributes += fmt::format(", feature_group_count={}", groups);
  const double log_max = input.log_max + kernel.log_max + 0.5 * std::log2(taps * static_cast<double>(kernel.dims[2]));
  return safe(add("convolution", input.name + ", " + kernel.name, {"", input.type, dims, log_max}, attributes));
}

std::string HloText::module(const std::string& name, const std::vector<Value>& results) const {
  std::string shapes, names;
  for (const Value& value : results) {
    shapes += (shapes.empty() ? "" : ", ") + shape_text(value.type, value.dims);
    names += (names.empty() ? "" : ", ") + value.name;
  }
  return fmt::format("HloModule {}\n\n{}ENTRY main {{\n{}  ROOT results = ({}) tuple({})\n}}\n", name, computations_,
                     body_, shapes, names);
}

}  // namespace hone::collect
