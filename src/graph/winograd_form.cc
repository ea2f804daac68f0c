#include "graph/winograd_form.h"

#include <charconv>
#include <string_view>

namespace hone {
namespace {

constexpr std::string_view kTile = "winograd=", kStrips = ";strips=";

// Takes "<label><number>" off the front of the text.
std::optional<int> take_number(std::string_view& text, std::string_view label) {
  if (!text.starts_with(label)) return std::nullopt;
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + label.size(), end, number);
  if (error != std::errc()) return std::nullopt;
  text = std::string_view(rest, static_cast<size_t>(end - rest));
  return number;
}

}  // namespace

std::optional<WinogradForm> WinogradForm::parse(const std::string& text) {
  std::string_view rest = text;
  const std::optional<int> tile = take_number(rest, kTile);
  if (!tile || *tile < 2) return std::nullopt;
  if (rest.empty()) return WinogradForm{.tile = *tile};
  const std::optional<int> strips = take_number(rest, kStrips);
  if (!strips || *strips < 2 || !rest.empty()) return std::nullopt;
  return WinogradForm{.tile = *tile, .strips = *strips};
}

std::string to_text(const WinogradForm& form) {
  const std::string text = std::string(kTile) + std::to_string(form.tile);
  return form.strips == 1 ? text : text + std::string(kStrips) + std::to_string(form.strips);
}

}  // namespace hone
