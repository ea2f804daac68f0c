// Configurations of custom calls: whole numbers, each followed by a space.
#pragma once

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

inline std::string plan_text(std::initializer_list<int64_t> numbers) {
  std::string text;
  for (const int64_t number : numbers) text += std::to_string(number) + " ";
  return text;
}

// Empty where the text holds something else, or a negative number.
inline std::vector<int64_t> plan_numbers(std::string_view text) {
  std::vector<int64_t> numbers;
  while (!text.empty()) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end == text.data() + text.size() || *end != ' ' || number < 0) return {};
    numbers.push_back(number);
    text.remove_prefix(end + 1 - text.data());
  }
  return numbers;
}

}  // namespace hone
