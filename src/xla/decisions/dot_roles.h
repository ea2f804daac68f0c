// What the dimensions of a dot's operands are for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

// The dimensions of an operand: those of the batch, contracted ones in the order of the dot's, and the others.
struct DotRoles {
  std::vector<int64_t> batch, contracting, free;
};

template <class Dimensions>
DotRoles dot_roles(const xla::Shape& shape, const Dimensions& batch, const Dimensions& contracting) {
  DotRoles roles{{batch.begin(), batch.end()}, {contracting.begin(), contracting.end()}, {}};
  for (int64_t d = 0; d < static_cast<int64_t>(shape.dimensions().size()); ++d)
    if (std::find(batch.begin(), batch.end(), d) == batch.end() &&
        std::find(contracting.begin(), contracting.end(), d) == contracting.end())
      roles.free.push_back(d);
  return roles;
}

inline DotRoles left_roles(const xla::HloInstruction& dot) {
  const auto& numbers = dot.dot_dimension_numbers();
  return dot_roles(dot.operand(0)->shape(), numbers.lhs_batch_dimensions(), numbers.lhs_contracting_dimensions());
}

inline DotRoles right_roles(const xla::HloInstruction& dot) {
  const auto& numbers = dot.dot_dimension_numbers();
  return dot_roles(dot.operand(1)->shape(), numbers.rhs_batch_dimensions(), numbers.rhs_contracting_dimensions());
}

// Of the sizes of these dimensions.
inline int64_t size_product(const xla::Shape& shape, const std::vector<int64_t>& dimensions) {
  int64_t size = 1;
  for (const int64_t d : dimensions) size *= shape.dimensions(d);
  return size;
}

// The three lists one after another.
inline std::vector<int64_t> joined(std::vector<int64_t> first, const std::vector<int64_t>& second,
                                   const std::vector<int64_t>& third) {
  first.insert(first.end(), second.begin(), second.end());
  first.insert(first.end(), third.begin(), third.end());
  return first;
}

}  // namespace hone::xla_side
