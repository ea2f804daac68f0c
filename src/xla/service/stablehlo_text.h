// Cleans StableHLO text so that XLA's importer accepts it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace hone::xla_side {

// Elided constants of @main become parameters; other dense_resource constants get the values that the file keeps at its end,
// or zeros where it has none; attributes of foreign dialects are dropped, separators of split files are removed, and the
// first public function is renamed to main when there is no main.
struct CleanText {
  std::string text;
  int64_t left_out = 0;    // constants without their values
  int64_t parameters = 0;  // those of them that are parameters now, the last ones
};
CleanText clean_stablehlo(const std::string& text);

// How often `part` occurs.
int64_t occurrences(std::string_view text, std::string_view part);

}  // namespace hone::xla_side
