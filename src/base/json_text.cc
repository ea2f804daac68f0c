#include "base/json_text.h"

namespace hone {

std::string_view shallow_json(std::string_view text) {
  constexpr int kDeepest = 200;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;  // whatever follows is part of the string
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if ((c == '[' || c == '{') && ++depth > kDeepest) return {};
    if (c == ']' || c == '}') --depth;
  }
  return text;
}

}  // namespace hone
