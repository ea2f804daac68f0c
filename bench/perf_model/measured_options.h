// The values of the options that a data set of options has of a kernel, in its order: those with a sound measurement, and the default.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/xla_version.h"
#include "data/database.h"
#include "data/kernel_view.h"

namespace hone::bench {

inline std::vector<std::string> measured_options(const Database& database, const KernelView& kernel,
                                                 const std::string& host) {
  const std::string fingerprint(kernel.fingerprint);
  const auto stored = database.find_stored_kernel(fingerprint, /*threads=*/1);
  if (!stored) throw Error("the database has no such kernel", fingerprint);
  std::set<int> found = {stored->default_option};
  for (const Record& row : database.find_kernel(fingerprint, host, 1, kXlaVersion)) {
    const auto option = std::find(stored->options.begin(), stored->options.end(), row.decisions);
    if (row.status == "ok" && option != stored->options.end())
      found.insert(static_cast<int>(option - stored->options.begin()));
  }
  if (static_cast<int64_t>(found.size()) != kernel.options())
    throw Error("the database and the data set differ in the options of a kernel", fingerprint);
  std::vector<std::string> values;
  for (const int option : found) values.push_back(option == stored->default_option ? "" : stored->options[option]);
  return values;
}

}  // namespace hone::bench
