// Cleans real-world StableHLO text so that XLA's importer takes it.
#pragma once
#include <string>

namespace hone::xla_side {

// Elided dense_resource constants become splats, attributes of foreign dialects are dropped, separators of split files
// go, and the first public function is called main when there is no main.
std::string clean_stablehlo(const std::string& text);

}  // namespace hone::xla_side
