#include "base/text.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "base/error.h"

namespace hone {
namespace {

constexpr uint64_t kMul1 = 0x87c37b91114253d5ull, kMul2 = 0x4cf5ad432745937full;
constexpr int64_t kMaxIndices = 1'000'000;
constexpr double kLongest_s = 1e9;  // thirty years

uint64_t avalanche(uint64_t h) {
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdull;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return h ^ (h >> 33);
}

uint64_t mix_low(uint64_t k) { return std::rotl(k * kMul1, 31) * kMul2; }
uint64_t mix_high(uint64_t k) { return std::rotl(k * kMul2, 33) * kMul1; }

std::pair<uint64_t, uint64_t> hash128(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t low = 0, high = 0;
  const uint64_t length = bytes.size();
  uint64_t block[2];
  for (; bytes.size() >= sizeof block; bytes.remove_prefix(sizeof block)) {
    std::memcpy(block, bytes.data(), sizeof block);
    low = (std::rotl(low ^ mix_low(block[0]), 27) + high) * 5 + 0x52dce729;
    high = (std::rotl(high ^ mix_high(block[1]), 31) + low) * 5 + 0x38495ab5;
  }
  // The rest, padded with zeros: a zero word leaves its half unchanged.
  std::memset(block, 0, sizeof block);
  if (!bytes.empty()) std::memcpy(block, bytes.data(), bytes.size());
  low ^= mix_low(block[0]) ^ length;
  high ^= mix_high(block[1]) ^ length;
  low += high;
  high += low;
  low = avalanche(low);
  high = avalanche(high);
  low += high;
  high += low;
  return {low, high};
}

// Removes a non-negative number from the front of the text; false if there is none.
template <class T>
bool take_number(std::string_view& text, T& number) {
  if (text.empty() || (text[0] != '.' && (text[0] < '0' || text[0] > '9'))) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string hash_hex(std::string_view bytes) {
  const auto [low, high] = hash128(bytes);
  return fmt::format("{:016x}{:016x}", low, high);
}

uint64_t hash64(std::string_view bytes) { return hash128(bytes).first; }

std::string human_bytes(double bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  size_t unit = 0;
  bytes /= 1024;
  for (; bytes >= 1023.995 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.2f} {}", bytes, kUnits[unit]);
}

std::string human_ns(double ns) {
  if (!std::isfinite(ns)) return "-";
  if (ns < 999.5) return fmt::format("{:.0f} ns", ns);
  if (ns < 999.995e3) return fmt::format("{:.2f} us", ns / 1e3);
  if (ns < 999.995e6) return fmt::format("{:.2f} ms", ns / 1e6);
  if (ns < 59.995e9) return fmt::format("{:.2f} s", ns / 1e9);
  const auto seconds = static_cast<int64_t>(std::llround(ns / 1e9));
  if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {} min", seconds / 3600, seconds % 3600 / 60);
}

double parse_duration_s(const std::string& text, const std::string& where) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1},   {"s", 1},    {"ms", 1e-3}, {"us", 1e-6},
                                                            {"m", 60}, {"min", 60}, {"h", 3600}};
  std::string_view rest = text;
  double number = 0;
  if (take_number(rest, number)) {
    for (const auto& [unit, seconds] : kUnits)
      if (rest == unit && number * seconds <= kLongest_s) return number * seconds;
  }
  throw Error(fmt::format("'{}' is not a duration", text), where, "write it like 60s, 2m or 500ms");
}

std::vector<int> parse_index_list(const std::string& text, const std::string& where) {
  const auto fail = [&](const std::string& why) { throw Error(why, where, "write indices and ranges like 0,3-9"); };
  std::set<int> indices;
  int64_t named = 0;  // with repeats, which take as long
  std::string_view rest = text;
  for (;;) {
    int first = 0;
    if (!take_number(rest, first)) fail(fmt::format("'{}' is not a list of indices", text));
    int last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      if (!take_number(rest, last)) fail(fmt::format("'{}' is not a list of indices", text));
      if (last < first) fail(fmt::format("the range {}-{} is in descending order", first, last));
    }
    if (int64_t{last} - first >= kMaxIndices) fail(fmt::format("the range {}-{} is too long", first, last));
    if ((named += int64_t{last} - first + 1) > kMaxIndices) fail("more than a million indices");
    for (int64_t index = first; index <= last; ++index) indices.insert(static_cast<int>(index));
    if (rest.empty()) return {indices.begin(), indices.end()};
    if (!rest.starts_with(',')) fail(fmt::format("'{}' is not a list of indices", text));
    rest.remove_prefix(1);
  }
}

}  // namespace hone
