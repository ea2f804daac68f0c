#include "kernels/sort.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "kernels/highway_sort.h"
#include "kernels/plan_text.h"

namespace hone {
namespace {

constexpr int kFields = 7;        // before the sizes
constexpr size_t kShortRow = 48;  // below it a call of the library takes longer than the sort

int bits_of(SortKey key) { return key == SortKey::BFloat || key == SortKey::Half ? 16 : 32; }

// An unsigned number that orders as the key does. Floats are ordered as IEEE 754's total order, with the sign's bit on top.
struct Order {
  explicit Order(const SortPlan& plan)
      : key(plan.key),
        bits(bits_of(plan.key)),
        sign(uint32_t{1} << (bits - 1)),
        infinity(plan.key == SortKey::Half     ? 0x7C00u
                 : plan.key == SortKey::BFloat ? 0x7F80u
                                               : 0x7F800000u),
        zeros_equal(plan.zeros_equal),
        nans_equal(plan.nans_equal),
        flip(plan.descending ? ~uint32_t{0} : 0) {}

  uint32_t operator()(uint32_t value) const { return ordered(value) ^ flip; }

 private:
  uint32_t ordered(uint32_t value) const {
    if (key == SortKey::Unsigned) return value;
    if (key == SortKey::Signed) return value ^ sign;
    const uint32_t magnitude = value & (sign - 1);
    if (zeros_equal && magnitude == 0) value = 0;
    if (nans_equal && magnitude > infinity) value = infinity + 1;
    return value & sign ? ~value & (2 * sign - 1) : value | sign;
  }

  SortKey key;
  int bits;
  uint32_t sign, infinity;
  bool zeros_equal, nans_equal;
  uint32_t flip;
};

template <class Element>
void fill_keys(const Order& order, const Element* row, std::vector<uint64_t>& keys) {
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = uint64_t{order(row[i])} << 32 | i;
}

template <class Element>
void permute(const std::vector<uint64_t>& keys, const void* from, void* to, int64_t begin) {
  const auto* source = static_cast<const Element*>(from) + begin;
  auto* target = static_cast<Element*>(to) + begin;
  for (size_t i = 0; i < keys.size(); ++i) target[i] = source[static_cast<uint32_t>(keys[i])];
}

void permute(int bytes, const std::vector<uint64_t>& keys, const void* from, void* to, int64_t begin) {
  switch (bytes) {
    case 1:
      return permute<uint8_t>(keys, from, to, begin);
    case 2:
      return permute<uint16_t>(keys, from, to, begin);
    case 4:
      return permute<uint32_t>(keys, from, to, begin);
    case 8:
      return permute<uint64_t>(keys, from, to, begin);
  }
  throw Error("elements of " + std::to_string(bytes) + " bytes cannot be sorted", "sort");
}

}  // namespace

std::string SortPlan::text() const {
  std::string text = plan_text({static_cast<int64_t>(key), int64_t{key_array}, int64_t{descending},
                                int64_t{zeros_equal}, int64_t{nans_equal}, rows, length});
  for (const int size : bytes) text += plan_text({size});
  return text;
}

SortPlan SortPlan::from_text(std::string_view text) {
  const Error bad("not the configuration of a sort", std::string(text));
  const std::vector<int64_t> numbers = plan_numbers(text);
  const int64_t arrays = static_cast<int64_t>(numbers.size()) - kFields;
  if (arrays < 1 || numbers[0] > static_cast<int64_t>(SortKey::Half) || numbers[1] >= arrays) throw bad;
  SortPlan plan{static_cast<SortKey>(numbers[0]),
                static_cast<int>(numbers[1]),
                numbers[2] != 0,
                numbers[3] != 0,
                numbers[4] != 0,
                numbers[5],
                numbers[6],
                {numbers.begin() + kFields, numbers.end()}};
  if (plan.bytes[plan.key_array] != bits_of(plan.key) / 8) throw bad;
  return plan;
}

void sort_rows(const SortPlan& plan, const void* const* arrays, void* const* sorted) {
  const Order order(plan);
  std::vector<uint64_t> keys(plan.length);
  for (int64_t row = 0; row < plan.rows; ++row) {
    const int64_t begin = row * plan.length;
    if (bits_of(plan.key) == 16)
      fill_keys(order, static_cast<const uint16_t*>(arrays[plan.key_array]) + begin, keys);
    else
      fill_keys(order, static_cast<const uint32_t*>(arrays[plan.key_array]) + begin, keys);
    if (keys.size() < kShortRow)
      std::sort(keys.begin(), keys.end());
    else
      highway_sort(keys.data(), keys.size());
    for (size_t a = 0; a < plan.bytes.size(); ++a) permute(plan.bytes[a], keys, arrays[a], sorted[a], begin);
  }
}

}  // namespace hone
