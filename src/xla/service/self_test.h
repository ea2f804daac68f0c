// Start-up check of every seam into undocumented interfaces of XLA.
#pragma once

namespace hone::xla_side {

// Compiles a small program and checks that XLA calls each seam and follows its answers. A seam that fails is switched
// off, with one line on standard error. Takes about 0.2 s; repeated calls do nothing.
void self_test();

}  // namespace hone::xla_side
