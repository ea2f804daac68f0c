// Start-up check of every seam into undocumented interfaces of XLA.
#pragma once

#include <string>

namespace hone::xla_side {

// Compiles a small program and checks that XLA calls each seam and follows its answers. A seam that fails is switched
// off, with one line on standard error. Takes about 0.2 s; repeated calls do nothing. `folder`: where a file may be written for a
// moment; empty or not writable = the code cache is tested without files.
void self_test(const std::string& folder);

}  // namespace hone::xla_side
