// Start-up check of every seam into XLA that is no documented API.
#pragma once

namespace hone::xla_side {

// Compiles two tiny programs and looks whether XLA came through each seam and obeyed. A seam that did not is switched
// off, with one line on standard error. Takes about 0.2 s; repeated calls do nothing.
void self_test();

}  // namespace hone::xla_side
