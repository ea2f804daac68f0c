// Versions of what compiles and computes, as packages record them.
#pragma once

#include <map>
#include <string>

namespace hone::xla_side {

// Of the wheel that this process has loaded: "tensorflow-cpu 2.21.0".
std::string xla_version();

// By name; without those that are missing here. YNNPACK is part of XLA's wheel and has its version.
std::map<std::string, std::string> library_versions();

}  // namespace hone::xla_side
