// One tile of a step: every value is a few vectors in the first-level cache, and dots read panels of their right side.
//
// Included by one source for each width of vectors, which defines HONE_LANES, HONE_ROWS and HONE_KERNEL. Nothing else here may
// have external linkage, and no template of the standard library may be used: the linker would take it for other sources, too.

#include <cstdint>

#include "kernels/attention_products.h"
#include "kernels/recurrence_tiles.h"

namespace hone {
namespace {

// expf of Cephes; results that are no normal numbers are 0.
HONE_INLINE Vector exponential_of_any(Vector x) {
  const Vector most = splat(89);  // e^89 is no number of f32; what is not a number stays so
  const Vector y = x > most ? most : x;
  const Vector shift = splat(12582912.0f);  // 1.5 * 2^23, whose last bits are whole numbers
  const Vector power = y * 1.44269504088896341f + shift;
  const Vector whole = power - shift;
  const Vector r = y - whole * 0.693359375f - whole * -2.12194440e-4f;
  Vector p = splat(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + (r + 1.0f);
  // By two factors: 2^128 is no number of f32, but what it is multiplied by may be less than 1.
  const Integers exponent = reinterpret_cast<Integers>(power) - 0x4B400000, half = exponent >> 1;
  const Vector first = reinterpret_cast<Vector>((half + 127) << 23),
               second = reinterpret_cast<Vector>((exponent - half + 127) << 23);
  const Vector result = p * first * second;
  return x < -87.33654f ? Vector{} : x > 88.7228394f ? splat(__builtin_inff()) : result;
}

// A quotient of polynomials, as Eigen and XLA compute it.
HONE_INLINE Vector hyperbolic_tangent(Vector x) {
  const Vector most = splat(7.90531110763549805f);  // from where on it is 1
  const Vector low = x > most ? most : x, y = low < -most ? -most : low, s = y * y;
  Vector p = splat(-2.76076847742355e-16f);
  p = p * s + 2.00018790482477e-13f;
  p = p * s + -8.60467152213735e-11f;
  p = p * s + 5.12229709037114e-08f;
  p = p * s + 1.48572235717979e-05f;
  p = p * s + 6.37261928875436e-04f;
  p = p * s + 4.89352455891786e-03f;
  Vector q = splat(1.19825839466702e-06f);
  q = q * s + 1.18534705686654e-04f;
  q = q * s + 2.26843463243900e-03f;
  q = q * s + 4.89352518554385e-03f;
  const Vector size = x < Vector{} ? -x : x;
  return size < 0.0004f ? x : y * p / q;
}

HONE_INLINE Vector chosen(Integers which, Vector a, Vector b) { return which ? a : b; }
HONE_INLINE Vector truth(Integers which) { return which ? splat(1) : Vector{}; }

template <class Make>
HONE_INLINE void each(float* out, const float* a, int64_t count, Make make) {
  for (int64_t i = 0; i < count; i += kLanes) store(out + i, make(load(a + i)));
}

template <class Make>
HONE_INLINE void each(float* out, const float* a, const float* b, int64_t count, Make make) {
  for (int64_t i = 0; i < count; i += kLanes) store(out + i, make(load(a + i), load(b + i)));
}

void compute_one(StepOp op, float* out, const float* a, int64_t count) {
  switch (op) {
    case StepOp::Negate:
      return each(out, a, count, [](Vector x) { return -x; });
    case StepOp::Absolute:
      return each(out, a, count,
                  [](Vector x) { return reinterpret_cast<Vector>(reinterpret_cast<Integers>(x) & 0x7FFFFFFF); });
    case StepOp::Exponential:
      return each(out, a, count, [](Vector x) { return exponential_of_any(x); });
    case StepOp::Tanh:
      return each(out, a, count, [](Vector x) { return hyperbolic_tangent(x); });
    default:
      return each(out, a, count, [](Vector x) { return 1.0f / (1.0f + exponential_of_any(-x)); });
  }
}

// Maximum and minimum are not numbers where one of both is not.
void compute_two(StepOp op, float* out, const float* a, const float* b, int64_t count) {
  switch (op) {
    case StepOp::Add:
      return each(out, a, b, count, [](Vector x, Vector y) { return x + y; });
    case StepOp::Subtract:
      return each(out, a, b, count, [](Vector x, Vector y) { return x - y; });
    case StepOp::Multiply:
      return each(out, a, b, count, [](Vector x, Vector y) { return x * y; });
    case StepOp::Divide:
      return each(out, a, b, count, [](Vector x, Vector y) { return x / y; });
    case StepOp::Maximum:
      return each(out, a, b, count, [](Vector x, Vector y) { return chosen((x > y) | (x != x), x, y); });
    case StepOp::Minimum:
      return each(out, a, b, count, [](Vector x, Vector y) { return chosen((x < y) | (x != x), x, y); });
    case StepOp::Equal:
      return each(out, a, b, count, [](Vector x, Vector y) { return truth(x == y); });
    case StepOp::Less:
      return each(out, a, b, count, [](Vector x, Vector y) { return truth(x < y); });
    default:
      return each(out, a, b, count, [](Vector x, Vector y) { return truth(x <= y); });
  }
}

void select(float* out, const float* which, const float* a, const float* b, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes)
    store(out + i, chosen(load(which + i) != Vector{}, load(a + i), load(b + i)));
}

void fill(float* out, float number, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) store(out + i, splat(number));
}

HONE_INLINE float* at(const TilePlace& place, const Tile& tile, int64_t row) {
  return ((tile.step & 1) ? place.odd : place.even) + tile.step * place.step + row * place.row +
         tile.column * place.column;
}

void load_tile(const TilePlace& place, const Tile& tile, int64_t width, float* out) {
  for (int64_t m = 0; m < tile.rows; ++m, out += width) {
    const float* from = at(place, tile, tile.row + m);
    if (place.column == 0) {
      fill(out, *from, width);
      continue;
    }
    int64_t j = 0;
    if (place.column == 1)
      for (const int64_t end = place.padded ? width : tile.columns / kLanes * kLanes; j < end; j += kLanes)
        store(out + j, load(from + j));
    for (; j < tile.columns; ++j) out[j] = from[j * place.column];
    for (; j < width; ++j) out[j] = 0;
  }
}

void store_tile(const TilePlace& place, const Tile& tile, int64_t width, const float* value) {
  for (int64_t m = 0; m < tile.rows; ++m, value += width) {
    float* to = at(place, tile, tile.row + m);
    int64_t j = 0;
    if (place.column == 1)
      for (const int64_t end = place.padded ? width : tile.columns / kLanes * kLanes; j < end; j += kLanes)
        store(to + j, load(value + j));
    for (; j < tile.columns; ++j) to[j * place.column] = value[j];
  }
}

// Two panels at once, where few rows have registers for it: more sums are computed at the same time.
constexpr int kWideRows = HONE_ROWS / 3;

template <int rows>
[[gnu::noinline]] void product_of_two(const Product& p, int64_t panel) {
  Vector sums[rows][4];
#pragma GCC unroll 16
  for (int m = 0; m < rows; ++m)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[m][v] = Vector{};
  for (int64_t k = 0; k < p.depth; ++k) {
    const float* b = p.b + k * kPanel;
    const Vector right[4] = {load(b), load(b + kLanes), load(b + panel), load(b + panel + kLanes)};
#pragma GCC unroll 16
    for (int m = 0; m < rows; ++m) {
      const Vector left = splat(p.a[m * p.a_row + k]);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[m][v] += left * right[v];
    }
  }
#pragma GCC unroll 16
  for (int m = 0; m < rows; ++m)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) store(p.c + m * p.c_row + v * kLanes, sums[m][v]);
}

template <int rows = kWideRows>
void product_of_two_for(int64_t count, const Product& p, int64_t panel) {
  if constexpr (rows > 1)
    if (count < rows) return product_of_two_for<rows - 1>(count, p, panel);
  product_of_two<rows>(p, panel);
}

void multiply_tile(const TileOp& op, const Tile& tile, int64_t width, float* out) {
  const TilePlace& left = tile.places[op.place];
  const int64_t panel = op.depth * kPanel;
  Tile first = tile;  // a dot's left side is read from its first column on
  first.column = 0;
  Product p{at(left, first, tile.row),
            left.row,
            tile.panels[op.matrix] + tile.column / kPanel * panel,
            op.depth,
            out,
            width,
            nullptr};
  int64_t j = 0;
  if (tile.rows <= kWideRows)
    for (; tile.columns - j > kPanel + kLanes; j += 2 * kPanel, p.b += 2 * panel, p.c += 2 * kPanel)
      product_of_two_for(tile.rows, p, panel);
  if (j < tile.columns) product_of_panels(static_cast<int>(tile.rows), p, tile.columns - j, panel);
}

void compute(const Tile& tile) {
  const int64_t width = padded(tile.columns, kLanes), count = tile.rows * width;
  const auto slot = [&](int i) { return tile.slots + i * count; };
  for (int64_t i = 0; i < tile.count; ++i) {
    const TileOp& op = tile.ops[i];
    switch (op.kind) {
      case TileOp::Load:
        load_tile(tile.places[op.place], tile, width, slot(op.out));
        break;
      case TileOp::Fill:
        fill(slot(op.out), op.number, count);
        break;
      case TileOp::Product:
        multiply_tile(op, tile, width, slot(op.out));
        break;
      case TileOp::Store:
        store_tile(tile.places[op.place], tile, width, slot(op.a));
        break;
      case TileOp::Compute:
        if (op.c >= 0)
          select(slot(op.out), slot(op.a), slot(op.b), slot(op.c), count);
        else if (op.b >= 0)
          compute_two(op.op, slot(op.out), slot(op.a), slot(op.b), count);
        else
          compute_one(op.op, slot(op.out), slot(op.a), count);
    }
  }
}

}  // namespace

const RecurrenceKernel HONE_KERNEL = {kLanes, kRows, pack, compute};

}  // namespace hone
