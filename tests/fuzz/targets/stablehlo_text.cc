// StableHLO text, as it is mended before XLA parses it.
#include "xla/service/stablehlo_text.h"

#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void stablehlo_text(Bytes input) { xla_side::clean_stablehlo(text_of(input)); }

}  // namespace hone::fuzz
