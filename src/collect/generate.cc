#include "collect/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>

#include "base/error.h"
#include "base/rng.h"
#include "base/suggest.h"
#include "base/text.h"
#include "collect/generate_layers.h"

namespace hone::collect {

namespace {

// Sizes that real models use, besides powers of two.
constexpr int64_t kOddSizes[] = {3,   5,   6,   7,   9,   10,  12,  14,  15,   17,   20,   24,  28,  33,
                                 36,  40,  48,  49,  50,  56,  60,  63,  65,   77,   80,   96,  100, 112,
                                 120, 127, 144, 160, 192, 196, 197, 200, 224,  255,  257,  288, 300, 320,
                                 384, 400, 480, 500, 576, 640, 672, 768, 1000, 1280, 1536, 3072};

// Steps of a kernel: each reads values of the pool and adds one to it, or does nothing if it does not apply.
using Move = std::optional<Value> (*)(HloText& text, std::vector<Value>& pool, Rng& rng);

const Value& any(const std::vector<Value>& pool, Rng& rng) {
  // The latest value is picked more often, so that graphs grow deep as well as wide.
  return rng.uniform() < 0.7 ? pool.back() : pool[rng.below(static_cast<int64_t>(pool.size()))];
}

std::optional<Value> unary_move(HloText& text, std::vector<Value>& pool, Rng& rng) {
  return random_unary(text, any(pool, rng), rng);
}

// A second operand of the same shape and type: from the pool, a new parameter, or a broadcast row.
Value partner(HloText& text, const std::vector<Value>& pool, const Value& a, Rng& rng) {
  std::vector<const Value*> equal;
  for (const Value& v : pool)
    if (v.dims == a.dims && v.type == a.type && v.name != a.name) equal.push_back(&v);
  const double dice = rng.uniform();
  if (!equal.empty() && dice < 0.6) return *equal[rng.below(static_cast<int64_t>(equal.size()))];
  if (a.rank() > 1 && dice < 0.85) {
    const int64_t kept = rng.below(a.rank());
    return text.broadcast(text.parameter(a.type, {a.dims[kept]}), a.dims, {kept});
  }
  return text.parameter(a.type, a.dims);
}

std::optional<Value> binary_move(HloText& text, std::vector<Value>& pool, Rng& rng) {
  const Value a = any(pool, rng);
  return random_binary(text, a, partner(text, pool, a, rng), rng);
}

std::optional<Value> scalar_move(HloText& text, std::vector<Value>& pool, Rng& rng) {
  static constexpr const char* kOps[] = {"add", "multiply", "subtract", "maximum"};
  const Value a = any(pool, rng);
  const double scalar = a.is_float() ? std::round(rng.uniform() * 64) / 32 - 1 : static_cast<double>(1 + rng.below(7));
  return text.scalar_binary(kOps[rng.below(std::size(kOps))], a, scalar);
}

std::optional<Value> select_move(HloText& text, std::vector<Value>& pool, Rng& rng) {
  static constexpr const char* kDirections[] = {"LT", "GT", "LE", "GE"};
  const Value a = any(pool, rng);
  const Value b = partner(text, pool, a, rng);
  if (rng.uniform() < 0.3) return a.is_float() ? text.clamp(-1, a, 1.5) : text.clamp(-100, a, 100);
  const Value predicate = text.compare(kDirections[rng.below(4)], a, b);
  return text.select(predicate, a, rng.uniform() < 0.5 ? b : partner(text, pool, a, rng));
}

std::optional<Value> convert_move(HloText& text, std::vector<Value>& pool, Rng& rng) {
  const Value a = any(pool, rng);
  if (a.type == "f32") return text.convert("bf16", a);
  return text.convert("f32", a.type == "s32" ? text.clamp(-1000, a, 1000) : a);
}

std::optional<Value> transpose_move(HloText& text, std::vector<Value>& pool, Rng& rng) {
  const Value a = any(pool, rng);
  if (a.rank() < 2) return std::nullopt;
  Dims permutation;
  for (int64_t i = 0; i < a.rank(); ++i) permutation.push_back(i);
  const int64_t first = rng.below(a.rank() - 1);
  std::swap(permutation[first], permutation[first + 1 + rng.below(a.rank() - 1 - first)]);
  return text.transpose(a, permutation);
}

std::optional<Value> reduce_move(HloText& text, std::vector<Value>& pool, Rng& rng) {
  static constexpr const char* kOps[] = {"add", "add", "maximum", "minimum"};
  const Value a = any(pool, rng);
  if (a.rank() < 1) return std::nullopt;
  const int64_t gone = rng.uniform() < 0.6 ? a.rank() - 1 : rng.below(a.rank());
  const Value reduced = text.reduce(kOps[rng.below(4)], a, {gone});
  if (rng.uniform() < 0.3) return reduced;
  Dims kept;  // back to the full shape: normalisations look like this
  for (int64_t i = 0; i < a.rank(); ++i)
    if (i != gone) kept.push_back(i);
  return text.binary(rng.uniform() < 0.5 ? "subtract" : "multiply", a, text.broadcast(reduced, a.dims, kept));
}

std::optional<Value> slice_move(HloText& text, std::vector<Value>& pool, Rng& rng) {
  const Value a = any(pool, rng);
  if (a.rank() < 1) return std::nullopt;
  const int64_t along = rng.below(a.rank()), size = a.dims[along];
  if (size < 2) return std::nullopt;
  Dims starts(a.rank(), 0), limits = a.dims, strides(a.rank(), 1);
  starts[along] = rng.below(size / 2);
  limits[along] = starts[along] + 1 + rng.below(size - starts[along]);
  if (rng.uniform() < 0.2) strides[along] = 2;
  return text.slice(a, starts, limits, strides);
}

std::optional<Value> pad_move(HloText& text, std::vector<Value>& pool, Rng& rng) {
  const Value a = any(pool, rng);
  if (a.rank() < 1) return std::nullopt;
  Dims low(a.rank(), 0), high(a.rank(), 0);
  for (int64_t i = 0; i < a.rank(); ++i) low[i] = rng.below(3), high[i] = rng.below(4);
  return text.pad(a, low, high);
}

std::optional<Value> concatenate_move(HloText& text, std::vector<Value>& pool, Rng& rng) {
  const Value a = any(pool, rng);
  if (a.rank() < 1) return std::nullopt;
  const Value b = partner(text, pool, a, rng);
  return text.concatenate(a, b, rng.below(a.rank()));
}

std::optional<Value> broadcast_move(HloText& text, std::vector<Value>& pool, Rng& rng) {
  const Value a = any(pool, rng);
  if (a.rank() > 3) return std::nullopt;
  const int64_t at = rng.below(a.rank() + 1);
  Dims dims = a.dims, dimensions;
  dims.insert(dims.begin() + at, int64_t{1} << (1 + rng.below(5)));
  for (int64_t i = 0; i < a.rank(); ++i) dimensions.push_back(i < at ? i : i + 1);
  return text.broadcast(a, dims, dimensions);
}

std::optional<Value> reverse_move(HloText& text, std::vector<Value>& pool, Rng& rng) {
  const Value a = any(pool, rng);
  if (a.rank() < 1) return std::nullopt;
  return text.reverse(a, rng.below(a.rank()));
}

std::optional<Value> iota_move(HloText& text, std::vector<Value>& pool, Rng& rng) {
  const Value a = any(pool, rng);
  if (a.rank() < 1 || a.type == "bf16") return std::nullopt;
  return text.binary("add", a, text.iota(a.type, a.dims, rng.below(a.rank())));
}

std::optional<Value> dot_move(HloText& text, std::vector<Value>& pool, Rng& rng) {
  const Value a = any(pool, rng);
  if (a.type != "f32" || a.rank() < 2 || a.rank() > 3) return std::nullopt;
  const int64_t columns = int64_t{1} << (3 + rng.below(6)), inner = a.dims.back();
  if (elements(a.dims) * static_cast<double>(columns) > 2e8) return std::nullopt;
  return text.dot(a, text.parameter("f32", {inner, columns}), 0, 0);
}

struct WeightedMove {
  Move move;
  double weight;
};
constexpr WeightedMove kMoves[] = {{unary_move, 30},  {binary_move, 30},     {scalar_move, 12},   {select_move, 6},
                                   {convert_move, 4}, {transpose_move, 5},   {reduce_move, 9},    {slice_move, 4},
                                   {pad_move, 3},     {concatenate_move, 3}, {broadcast_move, 3}, {reverse_move, 1},
                                   {iota_move, 1},    {dot_move, 2}};

Move random_move(Rng& rng) {
  double total = 0;
  for (const WeightedMove& s : kMoves) total += s.weight;
  double dice = rng.uniform() * total;
  for (const WeightedMove& s : kMoves)
    if ((dice -= s.weight) < 0) return s.move;
  return unary_move;
}

// One size near `wanted`: a power of two, a size real models use, or any number.
int64_t realistic_size(double wanted, Rng& rng) {
  const double dice = rng.uniform();
  if (wanted < 1.5) return 1;
  if (dice < 0.45) return int64_t{1} << std::lround(std::log2(wanted));
  if (dice < 0.8)
    return *std::min_element(std::begin(kOddSizes), std::end(kOddSizes), [&](int64_t a, int64_t b) {
      return std::fabs(std::log(static_cast<double>(a) / wanted)) <
             std::fabs(std::log(static_cast<double>(b) / wanted));
    });
  return std::max<int64_t>(1, std::lround(wanted));
}

// Log-uniform in the number of elements, split at random among one to four dimensions.
Dims random_dims(double max_elements, Rng& rng) {
  static constexpr int kRanks[] = {1, 2, 2, 2, 3, 3, 4};
  const int rank = kRanks[rng.below(std::size(kRanks))];
  const double log_elements = 5 + rng.uniform() * (std::log2(max_elements) - 6);
  std::vector<double> parts;
  double sum = 0;
  for (int i = 0; i < rank; ++i) sum += parts.emplace_back(0.15 + rng.uniform());
  Dims dims;
  for (double part : parts) dims.push_back(realistic_size(std::exp2(log_elements * part / sum), rng));
  return dims;
}

std::string generate_kernel(const std::string& name, const GenerateOptions& options, Rng& rng) {
  static constexpr const char* kTypes[] = {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "bf16", "bf16", "s32"};
  HloText text;
  const std::string type = kTypes[rng.below(std::size(kTypes))];
  const Dims dims = random_dims(options.max_elements, rng);
  std::vector<Value> pool = {text.parameter(type, dims)};
  const int steps = 2 + static_cast<int>(std::exp2(rng.uniform() * 4.6));  // 3 to 26, small ones more often
  for (int made = 0, tried = 0; made < steps && tried < 8 * steps; ++tried) {
    const HloText before = text;
    const std::optional<Value> value = random_move(rng)(text, pool, rng);
    if (!value || text.largest() > options.max_elements || elements(value->dims) < 1) {
      text = before;  // XLA removes unused instructions, but not unused parameters
      continue;
    }
    pool.push_back(*value);
    ++made;
  }
  std::vector<Value> results = {pool.back()};
  if (pool.size() > 3 && rng.uniform() < 0.15) results.push_back(pool[pool.size() - 2]);
  return text.module(name, results);
}

}  // namespace

GenerateKind generate_kind_from_name(const std::string& name) {
  for (GenerateKind kind : {GenerateKind::Kernel, GenerateKind::Program})
    if (name == generate_kind_name(kind)) return kind;
  throw unknown_word("kind of program", name, {"kernel", "program"}, "--kind");
}

const char* generate_kind_name(GenerateKind kind) { return kind == GenerateKind::Kernel ? "kernel" : "program"; }

std::string generated_name(const GenerateOptions& options, int index) {
  return fmt::format("generated-{}-{}-{:05}", generate_kind_name(options.kind), options.seed, index);
}

std::string generate_program(const GenerateOptions& options, int index) {
  if (!(options.max_elements >= 4096 && options.max_elements <= 1e9))
    throw Error("the limit of array elements must be between 4096 and 1e9", "--max-elements");
  const std::string name = generated_name(options, index);
  Rng rng(hash64(name));
  std::string module = name;  // an identifier in HLO text
  std::replace(module.begin(), module.end(), '-', '_');
  return options.kind == GenerateKind::Kernel ? generate_kernel(module, options, rng)
                                              : generate_layers(module, options.max_elements, rng);
}

}  // namespace hone::collect
