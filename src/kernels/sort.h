// Sorting rows by a key of at most 32 bits, with any number of arrays carried along. Stable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

enum class SortKey { Signed, Unsigned, Float, BFloat, Half };

// How rows are sorted; as text it is the configuration of a custom call.
struct SortPlan {
  SortKey key = SortKey::Unsigned;
  int key_array = 0;  // which of the arrays holds the keys
  bool descending = false;
  bool zeros_equal = false;  // of floats: -0 and 0 compare as equal
  bool nans_equal = false;   // of floats: all that are no numbers compare as equal, above infinity
  int64_t rows = 0, length = 0;
  std::vector<int> bytes;  // of an element, for each array: 1, 2, 4 or 8

  std::string text() const;
  // Throws Error for what text() does not write.
  static SortPlan from_text(std::string_view text);
};

// arrays, sorted: one pointer per array, each of [rows, length] elements one after another, not overlapping. Throws Error
// without Highway (see highway_sort.h).
void sort_rows(const SortPlan& plan, const void* const* arrays, void* const* sorted);

}  // namespace hone
