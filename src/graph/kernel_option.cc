#include "graph/kernel_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/error.h"

namespace hone {
namespace {

constexpr std::array kEmitterNames = {"default", "loop", "tile", "eigen", "ynn", "llvm", "naive"};
static_assert(kEmitterNames.size() == static_cast<size_t>(KernelOption::Emitter::Naive) + 1);

// 0 for anything that is not a positive number.
int64_t positive(std::string_view text) {
  int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed != std::errc() || end != text.data() + text.size() ? 0 : std::max<int64_t>(0, number);
}

// False when there is anything but positive numbers between the commas.
bool take_tile(std::string_view text, std::vector<int64_t>& tile) {
  while (true) {
    const size_t comma = text.find(',');
    tile.push_back(positive(text.substr(0, comma)));
    if (tile.back() == 0) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

bool take_flag(std::string_view part, std::string_view name, bool& value) {
  if (part.size() != name.size() + 2 || !part.starts_with(name) || part[name.size()] != '=') return false;
  if (part.back() != '0' && part.back() != '1') return false;
  value = part.back() == '1';
  return true;
}

// False for a part that is not an option of a kernel, or a second emitter.
bool take_part(std::string_view part, KernelOption& option) {
  const bool chosen = option.emitter != KernelOption::Emitter::Default;
  if (part.starts_with("tile=")) {
    if (chosen) return false;
    option.emitter = KernelOption::Emitter::Tiled;
    return take_tile(part.substr(5), option.tile);
  }
  if (part.starts_with("partitions=")) return (option.partitions = positive(part.substr(11))) > 0;
  if (take_flag(part, "unroll", option.unroll) || take_flag(part, "slp", option.slp)) return true;
  if (take_flag(part, "size", option.optimize_size)) return true;
  for (size_t i = 0; i < kEmitterNames.size(); ++i) {
    const auto emitter = static_cast<KernelOption::Emitter>(i);
    if (part != kEmitterNames[i] || emitter == KernelOption::Emitter::Tiled) continue;
    option.emitter = emitter;
    return !chosen;
  }
  return false;
}

// The first part that is not an option; empty when there is none.
std::string_view read_option(std::string_view text, KernelOption& option) {
  while (!text.empty()) {
    const size_t end = text.find(';');
    const std::string_view part = text.substr(0, end);
    if (!take_part(part, option)) return part.empty() ? text.substr(0, 1) : part;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return {};
}

}  // namespace

KernelOption KernelOption::parse(const std::string& text) {
  KernelOption option;
  const std::string_view wrong = read_option(text, option);
  if (!wrong.empty()) throw Error(fmt::format("\"{}\" is not an option of a kernel", wrong), "option " + text);
  return option;
}

std::optional<KernelOption> KernelOption::try_parse(const std::string& text) {
  KernelOption option;
  if (!read_option(text, option).empty()) return std::nullopt;
  return option;
}

std::string KernelOption::flags_text() const {
  std::string text;
  if (!unroll) text += ";unroll=0";
  if (!slp) text += ";slp=0";
  if (optimize_size) text += ";size=1";
  if (partitions > 0) text += fmt::format(";partitions={}", partitions);
  return text;
}

std::string to_text(const KernelOption& option) {
  const std::string flags = option.flags_text();
  if (option.emitter == KernelOption::Emitter::Tiled) return "tile=" + tile_text(option.tile) + flags;
  if (option.emitter == KernelOption::Emitter::Default && !flags.empty()) return flags.substr(1);
  return emitter_name(option.emitter) + flags;
}

const char* emitter_name(KernelOption::Emitter emitter) { return kEmitterNames.at(static_cast<size_t>(emitter)); }

std::vector<int64_t> tile_from_text(const std::string& text) {
  std::vector<int64_t> tile;
  if (!text.empty() && !take_tile(text, tile))
    throw Error(fmt::format("\"{}\" is not a tile", text), "", "write positive numbers like 8,128");
  return tile;
}

std::string tile_text(const std::vector<int64_t>& tile) { return fmt::format("{}", fmt::join(tile, ",")); }

}  // namespace hone
