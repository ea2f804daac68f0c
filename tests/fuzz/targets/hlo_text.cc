// What is read of the text of lowered modules.
#include "place/place_graph.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void hlo_text(Bytes input) {
  const std::string text = text_of(input);
  place::names_before_fusion(text);
  place::known_trip_counts(text);
}

}  // namespace hone::fuzz
