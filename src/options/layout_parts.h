// The split of configurations into training, validation and test data of a ranker. Without torch.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "options/config_graph.h"
#include "options/option_list.h"

namespace hone::options {

struct LayoutSplit {
  // "graphs": whole programs are held out, as in the paper (section 2.4.3); a program in several files is in one part only.
  // "configs": configurations of every program are held out, which evaluates predictions for measured programs, not for
  // others.
  std::string by = "graphs";
  double hold_out = 0;            // share kept for testing
  std::vector<std::string> test;  // or the programs kept for testing, by name
  int64_t folds = 20;             // of the rest: validation is one of them
  uint64_t seed = 0;
  // Throws Error that names the option.
  void validate() const;
};

template <class Visit>
void for_each_option(ListOf<LayoutSplit>, Visit&& visit) {
  using O = LayoutSplit;
  visit({"by",
         "what is held out: graphs (whole programs), configs (configurations of every program), or the programs of the "
         "part "
         "test in a FILE",
         "--split"},
        &O::by);
  visit({"hold_out", "share held out for hone eval layout"}, &O::hold_out);
  visit({"test"}, &O::test);
  visit({"folds", "number of folds of the cross-validation over the rest"}, &O::folds);
  visit({"seed", "seed of the split", "--split-seed"}, &O::seed);
}

nlohmann::json to_json(const LayoutSplit& split);
LayoutSplit layout_split_from_json(const nlohmann::json& json);  // as layout_model_options_from_json

struct LayoutPart {
  int64_t graph = 0;               // index of the graph
  std::vector<int32_t> configs;    // distinct ones
  std::vector<double> runtime_ns;  // of each
};

struct LayoutParts {
  std::vector<LayoutPart> train, validation, test;
};

// The actual number of folds: at most the number of training programs.
int64_t folds_of(const std::vector<ConfigGraph>& graphs, const LayoutSplit& split);

// Distinct measured configurations, split by a hash of their content, independent of their order in files. Graphs
// without run times are omitted. Throws Error if one part would be empty.
LayoutParts split_layouts(const std::vector<ConfigGraph>& graphs, const LayoutSplit& split, int64_t fold);
// All distinct measured configurations.
std::vector<LayoutPart> all_layouts(const std::vector<ConfigGraph>& graphs);

}  // namespace hone::options
