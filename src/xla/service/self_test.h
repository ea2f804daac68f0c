// Start-up check of every seam into undocumented interfaces of XLA.
#pragma once

#include <string>

namespace hone::xla_side {

// Compiles a small program and checks that XLA calls each seam and follows its answers. A seam that fails is switched
// off, with one line on standard error. Takes about a second; repeated calls do nothing. `passed`: the folder where it is kept that all
// seams passed; another process with the same builds, processor and XLA options takes that in place of the test. Empty or not
// writable = nothing is kept. `scratch`: where files may be written for a moment; empty or not writable = the code cache is tested
// without files.
void self_test(const std::string& passed, const std::string& scratch);

}  // namespace hone::xla_side
