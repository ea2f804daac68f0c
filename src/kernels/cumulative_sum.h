// Sums of all elements up to each, along one dimension.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

enum class SumType { F32, F64, S32 };

// As text it is the configuration of a custom call.
struct CumulativePlan {
  SumType type = SumType::F32;
  bool from_end = false;                     // the sum of all elements from each to the last
  int64_t outer = 0, length = 0, inner = 0;  // the array is [outer, length, inner]; sums run over length

  std::string text() const;
  // Throws Error for what text() does not write.
  static CumulativePlan from_text(std::string_view text);
};

// values, sums: [outer, length, inner] elements of the type, not overlapping. Integers wrap around.
void cumulative_sum(const CumulativePlan& plan, const void* values, void* sums);

}  // namespace hone
