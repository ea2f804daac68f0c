// Errors about a word that is none of those known, with the one that was probably meant.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace hone {

// The candidate that `word` is probably a misspelling of: few letters differ, or the candidate begins with the word.
std::optional<std::string> nearest(const std::string& word, const std::vector<std::string>& candidates);

// ", did you mean 'NEAREST'?", or nothing where no candidate is near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates);

// "there is no WHAT 'WORD', did you mean 'NEAREST'?" with the known words as the hint: "BEFORE one of a, b, c".
Error unknown_word(const std::string& what, const std::string& word, const std::vector<std::string>& known,
                   const std::string& where, const std::string& before = "");

}  // namespace hone
