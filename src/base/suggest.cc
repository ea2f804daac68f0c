#include "base/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace hone {
namespace {

// Letters to insert, delete, replace or swap with their neighbour (the restricted distance of Damerau and Levenshtein).
size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest(const std::string& word, const std::vector<std::string>& candidates) {
  constexpr size_t kLongest = 256;  // a name is shorter
  if (word.size() > kLongest) return std::nullopt;
  std::optional<std::string> best;
  size_t least = std::numeric_limits<size_t>::max();
  for (const std::string& candidate : candidates) {
    const bool begins = word.size() >= 3 && candidate.starts_with(word);
    const size_t distance = begins ? 1 : edits(word, candidate);
    if (distance > std::max<size_t>(1, std::min(word.size(), candidate.size()) / 3) || distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::optional<std::string> near = nearest(word, candidates);
  return near ? ", did you mean '" + *near + "'?" : "";
}

Error unknown_word(const std::string& what, const std::string& word, const std::vector<std::string>& known,
                   const std::string& where, const std::string& before) {
  const std::string words = known.empty() ? "none is known" : fmt::format("one of {}", fmt::join(known, ", "));
  return Error(fmt::format("there is no {} '{}'{}", what, word, did_you_mean(word, known)), where,
               before.empty() ? words : before + " " + words);
}

}  // namespace hone
