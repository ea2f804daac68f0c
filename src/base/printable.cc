#include "base/printable.h"

#include <fmt/format.h>

#include <cstdint>

namespace hone {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: the text does not begin with a character
};

// The first character of a text that is not empty (RFC 3629: the shortest form, no surrogates).
Character first_character(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  uint32_t code = lead & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[bytes] || code > 0x10ffff || surrogate) return {};
  return {code, bytes};
}

bool is_control(uint32_t code) {
  const bool reorders = code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
                        (code >= 0x2066 && code <= 0x2069);
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || reorders;
}

}  // namespace

std::string printable(std::string_view text, size_t longest) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::string line;
  while (!text.empty()) {
    const Character c = first_character(text);
    const std::string_view bytes = text.substr(0, c.bytes == 0 ? 1 : c.bytes);
    text.remove_prefix(bytes.size());
    std::string shown(bytes);
    if (c.bytes == 0)
      shown = fmt::format("\\x{:02x}", static_cast<uint8_t>(bytes[0]));
    else if (c.code >= '\t' && c.code <= '\r')
      shown = " ";
    else if (is_control(c.code))
      shown = c.code < 0x100 ? fmt::format("\\x{:02x}", c.code) : fmt::format("\\u{:04x}", c.code);
    if (line.size() + shown.size() > longest) return line + " ...";
    line += shown;
  }
  return line;
}

}  // namespace hone
