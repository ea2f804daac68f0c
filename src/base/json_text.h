// A check of JSON before it is parsed.
#pragma once

#include <string_view>

namespace hone {

// The text of a JSON document, or none where its arrays and objects nest deeper than any file of Hone's: the parser takes such text, but to
// copy, compare or print what it makes of it overflows the stack.
std::string_view shallow_json(std::string_view text);

}  // namespace hone
