// Trees from weights and from JSON, and a prediction by each.
#include "cost/trees.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cost/kernel_features.h"
#include "cost/tree_model.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

namespace {

void predict(const cost::Trees& trees, size_t features) {
  std::vector<uint16_t> leaves;
  for (const float value : {0.0F, -1e30F, 1e30F}) {
    const std::vector<float> rows(9 * features, value);
    trees.predict_rows(rows);
    trees.append_leaves(std::span(rows).first(features), leaves);
  }
}

}  // namespace

void trees(Bytes input) {
  constexpr size_t kFeatures = 4;
  if (take_choice(input, 2) == 0) {
    const nlohmann::json json = nlohmann::json::parse(shallow_json(text_of(input)), nullptr, false);
    expect_errors([&] { predict(cost::Trees::from_json(json, kFeatures), kFeatures); });
    return;
  }
  const MemoryFile file(input);
  const std::vector<std::string>& names = cost::kernel_feature_names();
  expect_errors([&] { predict(cost::open_trees(file.path(), {"fusion", "run time", names, "", ""}), names.size()); });
  expect_errors([&] { cost::open_tree_model(options::read_safetensors(file.path()), file.path(), features::Cpu{}); });
  expect_errors([&] {
    const auto network = cost::KernelNetwork::in(options::read_safetensors(file.path()), kFeatures);
    if (network) network->predict_rows(std::vector<float>(9 * kFeatures, 1e30F));
  });
}

}  // namespace hone::fuzz
