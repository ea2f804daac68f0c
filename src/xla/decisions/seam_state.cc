#include "decisions/seam_state.h"

namespace hone::xla_side {
namespace {

SeamState make_state(const char* name) {
  SeamState state;
  state.name = name;
  return state;
}

}  // namespace

std::vector<SeamState>& seam_states() {
  static std::vector<SeamState> states = {
      make_state("tile"),         make_state("tiled-support"), make_state("fusion"),        make_state("fusion-start"),
      make_state("dot-strategy"), make_state("dot-ynn"),       make_state("dot-ynn-shape"), make_state("conv-ynn"),
      make_state("reduce-ynn"),   make_state("ynn-thunk"),     make_state("layout"),        make_state("layout-passes"),
      make_state("code-fusions"), make_state("code-objects"),  make_state("code-links"),    make_state("code-library")};
  return states;
}

bool seam_on(const char* name) {
  for (const SeamState& s : seam_states())
    if (s.name == name) return s.on;
  return false;
}

SeamState& seam_state(SeamId id) { return seam_states().at(id); }

}  // namespace hone::xla_side
