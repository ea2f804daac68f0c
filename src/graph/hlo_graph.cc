#include "graph/hlo_graph.h"

#include <limits>

namespace hone {
namespace {

// Bits per element by xla.PrimitiveType; 0 for types without data of their own.
int64_t element_bits(int32_t type) {
  switch (type) {
    case 30:
    case 31:
      return 1;
    case 26:
    case 27:
      return 2;
    case 21:
    case 22:
    case 32:
      return 4;
    case 1:
    case 2:
    case 6:
    case 19:
    case 20:
    case 23:
    case 24:
    case 25:
    case 28:
    case 29:
    case 33:
      return 8;
    case 3:
    case 7:
    case 10:
    case 16:
      return 16;
    case 4:
    case 8:
    case 11:
      return 32;
    case 5:
    case 9:
    case 12:
    case 15:
      return 64;
    case 18:
      return 128;
    default:
      return 0;
  }
}

int64_t saturating_product(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}

constexpr int32_t kTuple = 13;

}  // namespace

int64_t Shape::elements() const {
  if (element_type == kTuple) return 0;
  int64_t product = 1;
  for (int64_t dim : dims) {
    if (dim == 0) return 0;
    product = saturating_product(product, dim);
  }
  return product;
}

int64_t Shape::bytes() const {
  if (element_type != kTuple) {
    const int64_t bits = element_bits(element_type), count = elements();
    if (bits % 8 == 0) return saturating_product(count, bits / 8);
    return count / (8 / bits) + (count % (8 / bits) != 0);
  }
  int64_t total = 0;
  for (const Shape& leaf : tuple_shapes)
    if (__builtin_add_overflow(total, leaf.bytes(), &total)) return std::numeric_limits<int64_t>::max();
  return total;
}

}  // namespace hone
