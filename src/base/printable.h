// Text of others, such as file names and messages of libraries, made safe for a terminal and for JSON.
#pragma once

#include <string>
#include <string_view>

namespace hone {

// The text as one line of valid UTF-8 without control characters: white space becomes a space; bytes that are not UTF-8,
// control characters (C0, C1 and DEL) and characters that reorder a line (bidirectional controls) become \x1b or \u202e.
// What is longer than `longest` bytes ends, between two characters, with " ...".
std::string printable(std::string_view text, size_t longest = 1000);

}  // namespace hone
