// Test cases that cannot run here. Catch2 has skipped cases from version 3 on; this counts them for the version that Debian has.
#pragma once

#include <string>

namespace hone {

// Says that the running test case is skipped, after which it returns. It is named in the log and counted in the line
// "N test cases skipped" at the end, which tests/run.sh reads; without it a case that tests nothing would count as passed.
void skip_case(const std::string& why);

}  // namespace hone
