// Cleans StableHLO text so that XLA's importer accepts it.
#pragma once
#include <string>

namespace hone::xla_side {

// Elided constants of @main become parameters, other dense_resource constants splats; attributes of foreign dialects are
// dropped, separators of split files are removed, and the first public function is renamed to main when there is no main.
std::string clean_stablehlo(const std::string& text);

}  // namespace hone::xla_side
