#include "measure/input_kinds.h"

#include <array>
#include <limits>

#include "base/rng.h"
#include "measure/inputs.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

// An array of a parameter.
struct InputLeaf {
  int64_t parameter;
  xla::ShapeIndex index;
  xla::PrimitiveType type;
  int64_t elements;
  InputUse use;
};

std::vector<InputLeaf> leaves_of(const xla::HloModule& program) {
  std::vector<InputLeaf> leaves;
  for (const auto* p : program.entry_computation()->parameter_instructions())
    xla::ShapeUtil::ForEachSubshape(p->shape(), [&](const xla::Shape& sub, const xla::ShapeIndex& index) {
      if (!sub.IsArray() || xla::ShapeUtil::ElementsIn(sub) == 0) return;
      leaves.push_back(
          {p->parameter_number(), index, sub.element_type(), xla::ShapeUtil::ElementsIn(sub), input_use(p, index)});
    });
  return leaves;
}

bool is_number(xla::PrimitiveType type) {
  return type == xla::F32 || type == xla::F64 || type == xla::BF16 || type == xla::F16;
}

// Calls work(T*, elements) for the floats of an array, those of complex numbers in turn; false for other types.
template <class Work>
bool on_floats(xla::Literal& literal, const InputLeaf& leaf, Work&& work) {
  void* data = literal.untyped_data(leaf.index);
  switch (leaf.type) {
    case xla::F32:
      return work(static_cast<float*>(data), leaf.elements), true;
    case xla::F64:
      return work(static_cast<double*>(data), leaf.elements), true;
    case xla::BF16:
      return work(static_cast<xla::bfloat16*>(data), leaf.elements), true;
    case xla::F16:
      return work(static_cast<xla::half*>(data), leaf.elements), true;
    case xla::C64:
      return work(static_cast<float*>(data), 2 * leaf.elements), true;
    case xla::C128:
      return work(static_cast<double*>(data), 2 * leaf.elements), true;
    default:
      return false;
  }
}

// The same for integers of whole bytes.
template <class Work>
bool on_integers(xla::Literal& literal, const InputLeaf& leaf, Work&& work) {
  void* data = literal.untyped_data(leaf.index);
  switch (leaf.type) {
    case xla::S8:
      return work(static_cast<int8_t*>(data), leaf.elements), true;
    case xla::S16:
      return work(static_cast<int16_t*>(data), leaf.elements), true;
    case xla::S32:
      return work(static_cast<int32_t*>(data), leaf.elements), true;
    case xla::S64:
      return work(static_cast<int64_t*>(data), leaf.elements), true;
    case xla::U8:
      return work(static_cast<uint8_t*>(data), leaf.elements), true;
    case xla::U16:
      return work(static_cast<uint16_t*>(data), leaf.elements), true;
    case xla::U32:
      return work(static_cast<uint32_t*>(data), leaf.elements), true;
    case xla::U64:
      return work(static_cast<uint64_t*>(data), leaf.elements), true;
    default:
      return false;
  }
}

bool make_zeros(xla::Literal& literal, const InputLeaf& leaf) {
  memset(literal.untyped_data(leaf.index), 0, literal.size_bytes(leaf.index));
  return true;
}

bool make_ties(xla::Literal& literal, const InputLeaf& leaf, Rng& rng) {
  if (leaf.elements == 1) return false;
  const std::array<double, 3> values = leaf.use.positive ? std::array{0.5, 1.0, 2.0} : std::array{-1.0, 0.5, 1.0};
  const double scale = leaf.use.fan_in > 0 ? std::exp2(-std::floor(std::log2(leaf.use.fan_in) / 2)) : 1;
  return on_floats(literal, leaf, [&](auto* data, int64_t n) {
    using T = std::remove_pointer_t<decltype(data)>;
    for (int64_t i = 0; i < n; ++i) data[i] = static_cast<T>(values[rng.below(values.size())] * scale);
  });
}

// A NaN and infinities in one place each, where there is room for all; an eighth of the others is -0.
bool make_special(xla::Literal& literal, const InputLeaf& leaf, Rng& rng) {
  return on_floats(literal, leaf, [&](auto* data, int64_t n) {
    using T = std::remove_pointer_t<decltype(data)>;
    const std::array<double, 3> values = {NAN, INFINITY, -INFINITY};
    for (int64_t i = 0; i < n; ++i)
      if (n >= 8 && rng.below(8) == 0) data[i] = static_cast<T>(-0.0f);
    const uint64_t first = rng.below(values.size());
    for (uint64_t k = 0; k < (n >= 16 ? values.size() : 1); ++k)
      data[rng.below(n)] = static_cast<T>(static_cast<float>(values[(first + k) % values.size()]));
  });
}

bool make_denormal(xla::Literal& literal, const InputLeaf& leaf, Rng& rng) {
  return on_floats(literal, leaf, [&](auto* data, int64_t n) {
    using T = std::remove_pointer_t<decltype(data)>;
    const double smallest = leaf.type == xla::F16                             ? 0x1p-14
                            : leaf.type == xla::F64 || leaf.type == xla::C128 ? 0x1p-1022
                                                                              : 0x1p-126;
    for (int64_t i = 0; i < n; ++i)
      if (n == 1 || rng.below(2) == 0)
        data[i] = static_cast<T>(std::copysign(smallest * (0.1 + 0.8 * rng.uniform()), static_cast<double>(data[i])));
  });
}

bool make_large(xla::Literal& literal, const InputLeaf& leaf, Rng& rng) {
  if (on_floats(literal, leaf, [&](auto* data, int64_t n) {
        using T = std::remove_pointer_t<decltype(data)>;
        const int most = leaf.type == xla::F16 ? 8 : leaf.type == xla::F64 || leaf.type == xla::C128 ? 500 : 60;
        for (int64_t i = 0; i < n; ++i)
          if (n == 1 || rng.below(8) == 0)
            data[i] = static_cast<T>(static_cast<double>(data[i]) * std::exp2(rng.below(most)));
      }))
    return true;
  if (leaf.elements == 1 || leaf.use.index_bound > 0) return false;
  return on_integers(literal, leaf, [&](auto* data, int64_t n) {
    using T = std::remove_pointer_t<decltype(data)>;
    using Limits = std::numeric_limits<T>;
    const std::array<T, 4> values = {Limits::max(), Limits::min(), static_cast<T>(-1), 0};
    for (int64_t i = 0; i < n; ++i)
      if (rng.below(4) == 0) data[i] = values[leaf.use.positive ? 0 : rng.below(values.size())];
  });
}

bool make_indices(xla::Literal& literal, const InputLeaf& leaf, Rng& rng) {
  if (leaf.use.index_bound <= 0) return false;
  return on_integers(literal, leaf, [&](auto* data, int64_t n) {
    using T = std::remove_pointer_t<decltype(data)>;
    using Limits = std::numeric_limits<T>;
    const T beyond = static_cast<T>(std::min<uint64_t>(leaf.use.index_bound, Limits::max()));
    const std::array<T, 4> values = {beyond, Limits::max(), static_cast<T>(-1), Limits::min()};
    const size_t choices = std::is_signed_v<T> ? 4 : 2;
    bool any = false;
    for (int64_t i = 0; i < n; ++i)
      if (rng.below(4) == 0) data[i] = values[rng.below(choices)], any = true;
    if (!any) data[rng.below(n)] = values[rng.below(choices)];
  });
}

bool make(xla::Literal& literal, const InputLeaf& leaf, InputKind kind, Rng& rng) {
  switch (kind) {
    case InputKind::Zeros:
      return make_zeros(literal, leaf);
    case InputKind::Ties:
      return make_ties(literal, leaf, rng);
    case InputKind::Special:
      return make_special(literal, leaf, rng);
    case InputKind::Denormal:
      return make_denormal(literal, leaf, rng);
    case InputKind::Large:
      return make_large(literal, leaf, rng);
    case InputKind::Indices:
      return make_indices(literal, leaf, rng);
    default:
      return false;
  }
}

}  // namespace

std::optional<std::vector<xla::Literal>> inputs_of_kind(const xla::HloModule& program,
                                                        const std::vector<xla::Literal>& ordinary, InputKind kind,
                                                        uint64_t seed) {
  std::vector<xla::Literal> inputs;
  for (const xla::Literal& literal : ordinary) inputs.push_back(literal.Clone());
  std::vector<InputLeaf> leaves = leaves_of(program);
  Rng rng(seed * 1000003 + static_cast<uint64_t>(kind));
  if (kind == InputKind::Special) {  // in all parameters they would leave no output finite
    std::erase_if(leaves, [](const InputLeaf& leaf) {
      return !is_number(leaf.type) && leaf.type != xla::C64 && leaf.type != xla::C128;
    });
    if (leaves.size() > 1) leaves = {leaves[rng.below(leaves.size())]};
  }
  bool changed = false;
  for (const InputLeaf& leaf : leaves) changed = make(inputs[leaf.parameter], leaf, kind, rng) || changed;
  if (!changed) return std::nullopt;
  return inputs;
}

}  // namespace hone::xla_side
