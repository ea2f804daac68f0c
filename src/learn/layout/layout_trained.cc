#include "learn/layout/layout_trained.h"

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/json_text.h"
#include "base/rng.h"
#include "features/encoded.h"
#include "learn/nets/trained.h"

namespace hone::learn {

namespace {

constexpr const char* kWeightsFormat = "hone-layout-weights-1";

options::StoredTensor stored_floats(std::vector<float> values) {
  return to_stored(torch::tensor(std::move(values), torch::kFloat));
}

std::vector<float> take_floats(const options::TensorFile& file, const char* name, int64_t count) {
  torch::Tensor values = torch::empty({count});
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) throw Error(std::string("the weights have no ") + name);
  copy_stored(found->second, name, values);
  return {values.data_ptr<float>(), values.data_ptr<float>() + count};
}

nlohmann::json rule_json(const cost::FrequentLayouts& rule) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [kind, layout] : rule.chosen()) rows.push_back({kind.first, kind.second, layout});
  return rows;
}

cost::FrequentLayouts rule_from(const nlohmann::json& rows) {
  std::map<cost::FrequentLayouts::Kind, uint64_t> chosen;
  for (const nlohmann::json& row : rows)
    chosen[{row.at(0).get<int>(), row.at(1).get<int>()}] = row.at(2).get<uint64_t>();
  return cost::FrequentLayouts::from(chosen);
}

std::string text_of(const options::TensorFile& file, const char* key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) throw Error(std::string("no ") + key + " in the weights' metadata");
  return found->second;
}

TrainedLayouts from_file(const options::TensorFile& file) {
  if (!file.metadata.contains("format") || file.metadata.at("format") != kWeightsFormat)
    throw Error("not weights of a layout ranker");
  if (text_of(file, "feature_version") != std::to_string(features::kFeatureVersion))
    throw Error("the weights have another feature version", "", "train them again");
  TrainedLayouts trained;
  try {
    trained.options =
        options::layout_model_options_from_json(nlohmann::json::parse(shallow_json(text_of(file, "model"))));
    trained.split = options::layout_split_from_json(nlohmann::json::parse(shallow_json(text_of(file, "split"))));
    trained.loss = text_of(file, "loss");
    trained.command = text_of(file, "command");
    trained.seed = std::stoull(text_of(file, "seed"));
    trained.validation_tau =
        nlohmann::json::parse(shallow_json(text_of(file, "validation_tau"))).get<std::vector<double>>();
    trained.rule = rule_from(nlohmann::json::parse(shallow_json(text_of(file, "rule"))));
  } catch (const nlohmann::json::exception&) {
    throw Error("the weights' metadata are damaged");
  } catch (const std::logic_error&) {
    throw Error("the weights' metadata are damaged");
  }
  if (trained.options.name == "frequent") return trained;
  trained.scale.mean = take_floats(file, "scale.mean", options::kNumericFeatures);
  trained.scale.deviation = take_floats(file, "scale.deviation", options::kNumericFeatures);
  for (size_t i = 0; i < trained.validation_tau.size(); ++i) {
    const auto network = make_layout_network(trained.options, 0);
    take_parameters(file, "member" + std::to_string(i) + ".", *network);
    network->eval();
    trained.members.push_back(network);
  }
  if (trained.members.empty()) throw Error("the weights contain no network");
  return trained;
}

}  // namespace

void save_layout_weights(const std::string& path, const TrainedLayouts& trained) {
  options::TensorFile file;
  file.metadata = {{"format", kWeightsFormat},
                   {"feature_version", std::to_string(features::kFeatureVersion)},
                   {"model", to_json(trained.options).dump()},
                   {"split", to_json(trained.split).dump()},
                   {"loss", trained.loss},
                   {"command", trained.command},
                   {"seed", std::to_string(trained.seed)},
                   {"validation_tau", nlohmann::json(trained.validation_tau).dump()},
                   {"rule", rule_json(trained.rule).dump()}};
  if (!trained.members.empty()) {
    file.tensors["scale.mean"] = stored_floats(trained.scale.mean);
    file.tensors["scale.deviation"] = stored_floats(trained.scale.deviation);
  }
  for (size_t i = 0; i < trained.members.size(); ++i)
    put_parameters(*trained.members[i], "member" + std::to_string(i) + ".", file);
  options::write_safetensors(path, file);
}

TrainedLayouts load_layout_weights(const std::string& path) {
  const options::TensorFile file = options::read_safetensors(path);
  try {
    return from_file(file);
  } catch (const Error& e) {
    throw Error(e.what(), path, e.hint());
  }
}

std::vector<double> predict_layouts(LayoutNetwork& network, const LayoutInputs& inputs,
                                    std::span<const int32_t> configs, const PredictLayouts& options) {
  const torch::InferenceMode inference;
  LayoutRows distinct(inputs);
  const std::vector<int32_t> rows = distinct.rows(configs);
  const torch::Tensor table = network.embed(inputs, distinct.nodes(), distinct.axes());
  const auto count = static_cast<int64_t>(configs.size());
  const int64_t batches = (count + options.batch - 1) / options.batch;
  std::vector<double> sum(configs.size());
  Rng rng(options.seed);
  std::vector<int32_t> order(configs.size());
  std::iota(order.begin(), order.end(), 0);
  for (int64_t turn = 0; turn < options.augmentations; ++turn) {
    for (int64_t i = count; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    at::parallel_for(0, batches, 1, [&](int64_t from, int64_t to) {
      const torch::InferenceMode here;  // the mode is per thread
      Noise none;
      for (int64_t b = from; b < to; ++b) {  // even sizes: attention across configurations depends on the batch size
        const int64_t first = count * b / batches, last = count * (b + 1) / batches;
        const std::span<const int32_t> chosen(order.data() + first, last - first);
        const torch::Tensor scores = network.score(inputs, table, distinct.index(rows, chosen), none).contiguous();
        for (int64_t i = 0; i < last - first; ++i) sum[chosen[i]] += scores.data_ptr<float>()[i];
      }
    });
  }
  for (double& value : sum) value /= static_cast<double>(options.augmentations);
  return sum;
}

std::vector<double> predict_layouts(const TrainedLayouts& trained, const options::ConfigGraph& graph,
                                    std::span<const int32_t> configs, const PredictLayouts& options) {
  if (configs.empty()) return {};
  if (options.batch < 1 || options.augmentations < 1) throw Error("must be at least 1", "--batch or --augment");
  if (trained.options.tiles != graph.is_tile())
    throw Error(graph.is_tile() ? "these weights rank layouts, the data are tiles"
                                : "these weights rank tiles, the data are layouts",
                graph.name);
  if (trained.options.name == "frequent") return trained.rule.predict(graph, configs);
  const LayoutInputs inputs(trained.options.prune ? options::prune(graph) : graph, trained.scale,
                            neighbourhood_of(trained.options));
  std::vector<double> sum(configs.size());
  for (const auto& member : trained.members) {
    const std::vector<double> scores = predict_layouts(*member, inputs, configs, options);
    for (size_t i = 0; i < scores.size(); ++i) sum[i] += scores[i] / static_cast<double>(trained.members.size());
  }
  return sum;
}

}  // namespace hone::learn
