#include "graph/winograd_form.h"

#include <charconv>
#include <string_view>

namespace hone {
namespace {

constexpr std::string_view kTile = "winograd=", kStrips = ";strips=";
constexpr std::string_view kUses[] = {"", "gradient-", "split-", "kernel-"};  // by WinogradUse

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
  WinogradForm form;
  for (size_t i = 1; i < std::size(kUses); ++i)
    if (rest.starts_with(kUses[i])) {
      form.use = static_cast<WinogradUse>(i);
      rest.remove_prefix(kUses[i].size());
      break;
    }
  const std::optional<int> tile = take_number(rest, kTile);
  if (!tile || *tile < 2) return std::nullopt;
  form.tile = *tile;
  if (rest.empty()) return form;
  const std::optional<int> strips = take_number(rest, kStrips);
  if (form.use == WinogradUse::Kernel) return std::nullopt;  // which has blocks of its own
  if (!strips || *strips < 2 || !rest.empty()) return std::nullopt;
  form.strips = *strips;
  return form;
}

std::string to_text(const WinogradForm& form) {
  const std::string text =
      std::string(kUses[static_cast<size_t>(form.use)]) + std::string(kTile) + std::to_string(form.tile);
  return form.strips == 1 ? text : text + std::string(kStrips) + std::to_string(form.strips);
}

}  // namespace hone
