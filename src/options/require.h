// Checks of a struct of options, one line each: const Require require{"model options"}; require(hidden >= 1, "hidden", "must be ...");
#pragma once
#include <string>

#include "base/error.h"

namespace hone::options {

struct Require {
  const char* options;  // the place that an error names

  // Throws Error("OPTION WHAT") unless it is fine.
  void operator()(bool fine, const char* option, const char* what) const {
    if (!fine) throw Error(std::string(option) + " " + what, options);
  }
};

}  // namespace hone::options
