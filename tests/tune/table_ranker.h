// A ranker with a table of scores.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "cost/kernel_ranker.h"

namespace hone::tune {

// Scores by "FINGERPRINT OPTION", else by "OPTION", else 100. Cannot encode kernels of the kind "unreadable".
class TableRanker : public cost::KernelRanker {
 public:
  explicit TableRanker(std::map<std::string, double> table) : table_(std::move(table)) {}
  std::string name() const override { return "table"; }
  std::vector<double> scores(const Kernel& kernel, const std::vector<std::string>& options) override {
    if (kernel.kind == "unreadable") throw Error("cannot be encoded", kernel.name);
    std::vector<double> scores;
    for (const std::string& option : options) {
      auto known = table_.find(kernel.fingerprint + " " + option);
      if (known == table_.end()) known = table_.find(option);
      scores.push_back(known == table_.end() ? 100 : known->second);
    }
    return scores;
  }

 private:
  std::map<std::string, double> table_;
};

}  // namespace hone::tune
