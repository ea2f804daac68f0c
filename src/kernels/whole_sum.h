// The sum of all elements of an array.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

// As text it is the configuration of a custom call.
struct WholeSumPlan {
  bool f64 = false;  // else f32
  int64_t count = 0;

  std::string text() const;
  // Throws Error for what text() does not write.
  static WholeSumPlan from_text(std::string_view text);
};

// values: [count] of the type; sum: one of it. The error of f32 grows with the square root of the count divided by the
// partial sums, in the mean: 128 with AVX-512, 64 with AVX2, 32 without; a block's are added to those of all blocks before.
void whole_sum(const WholeSumPlan& plan, const void* values, void* sum);

}  // namespace hone
