// Conversion of arbitrary bytes to PostgreSQL's text and back.
#include "data/postgres.h"

namespace hone {

namespace {

// U+10FF00 to U+10FFFF in UTF-8: F4 8F BC..BF 80..BF.
constexpr unsigned char kFirst = 0xf4, kSecond = 0x8f, kThird = 0xbc;

unsigned char at(std::string_view bytes, size_t i) {
  return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0;
}
bool is_tail(unsigned char byte) { return (byte & 0xc0) == 0x80; }
bool is_escape(std::string_view bytes, size_t i) {
  return at(bytes, i) == kFirst && at(bytes, i + 1) == kSecond && at(bytes, i + 2) >= kThird &&
         is_tail(at(bytes, i + 2)) && is_tail(at(bytes, i + 3));
}

// Length of the UTF-8 sequence at i (Unicode 15, table 3-7); 0 if there is none, it is NUL, or one of the escapes.
size_t sequence(std::string_view bytes, size_t i) {
  const unsigned char a = at(bytes, i), b = at(bytes, i + 1), c = at(bytes, i + 2), d = at(bytes, i + 3);
  if (a == 0 || is_escape(bytes, i)) return 0;
  if (a < 0x80) return 1;
  if (a >= 0xc2 && a <= 0xdf) return is_tail(b) ? 2 : 0;
  if (a >= 0xe0 && a <= 0xef) {
    const bool sound = is_tail(b) && is_tail(c) && !(a == 0xe0 && b < 0xa0) && !(a == 0xed && b > 0x9f);
    return sound ? 3 : 0;
  }
  if (a >= 0xf0 && a <= 0xf4) {
    const bool sound = is_tail(b) && is_tail(c) && is_tail(d) && !(a == 0xf0 && b < 0x90) && !(a == 0xf4 && b > 0x8f);
    return sound ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string encode_text(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    if (const size_t length = sequence(bytes, i)) {
      text.append(bytes.substr(i, length));
      i += length;
      continue;
    }
    const unsigned char byte = at(bytes, i++);
    text += {static_cast<char>(kFirst), static_cast<char>(kSecond), static_cast<char>(kThird | (byte >> 6)),
             static_cast<char>(0x80 | (byte & 0x3f))};
  }
  return text;
}

std::string decode_text(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (!is_escape(text, i)) {
      bytes += text[i++];
      continue;
    }
    bytes += static_cast<char>((at(text, i + 2) & 0x03) << 6 | (at(text, i + 3) & 0x3f));
    i += 4;
  }
  return bytes;
}

}  // namespace hone
