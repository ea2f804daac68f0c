#include "learn/nets/trained.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/json_text.h"
#include "features/encoded.h"
#include "learn/nets/fast.h"

namespace hone::learn {

namespace {

constexpr const char* kFormat = "hone-weights-1";
constexpr int64_t kMaxRows = 16384;  // of one batch: node embeddings stay within the cache

const char* dtype_name(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat:
      return "F32";
    case torch::kDouble:
      return "F64";
    case torch::kLong:
      return "I64";
    default:
      throw InternalError("weights of a type that cannot be stored");
  }
}

const std::string& metadata(const options::TensorFile& file, const char* key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) throw Error(std::string("no ") + key + " in the weights' metadata");
  return found->second;
}

nlohmann::json json_metadata(const options::TensorFile& file, const char* key) {
  nlohmann::json json = nlohmann::json::parse(shallow_json(metadata(file, key)), nullptr, false);
  if (json.is_discarded()) throw Error(std::string(key) + " in the weights' metadata is damaged");
  return json;
}

Trained from_file(const options::TensorFile& file) {
  if (!file.metadata.contains("format") || file.metadata.at("format") != kFormat)
    throw Error("not weights written by hone");
  const std::string& version = metadata(file, "feature_version");
  if (version != std::to_string(features::kFeatureVersion))
    throw Error(
        "the weights have feature version " + version + ", hone has " + std::to_string(features::kFeatureVersion), "",
        "train them again");
  Trained trained;
  trained.options = options::model_options_from_json(json_metadata(file, "model"));
  trained.scale = cost::feature_scale_from_json(json_metadata(file, "scaler"), trained.options.demand);
  trained.task = metadata(file, "task");
  trained.loss = metadata(file, "loss");
  trained.command = metadata(file, "command");
  try {
    const nlohmann::json target = json_metadata(file, "target");
    target.at("log_mean").get_to(trained.log_mean);
    target.at("log_deviation").get_to(trained.log_deviation);
    trained.seed = std::stoull(metadata(file, "seed"));
  } catch (const nlohmann::json::exception&) {
    throw Error("target in the weights' metadata is damaged");
  } catch (const std::logic_error&) {
    throw Error("seed in the weights' metadata is damaged");
  }
  trained.network = make_network(trained.options, trained.scale.widths(), 0);
  take_parameters(file, "", *trained.network);
  trained.network->eval();
  return trained;
}

std::vector<double> to_vector(const torch::Tensor& tensor) {
  const torch::Tensor values = tensor.contiguous();
  return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
}

// A kernel without options ("default" only, where a data set holds none) is one option of width 0.
int64_t count_options(const KernelView& kernel, int64_t width) {
  return width > 0 ? static_cast<int64_t>(kernel.tiles.size()) / width : std::max<int64_t>(kernel.options(), 1);
}

std::vector<double> fast_scores(const Trained& trained, FastNetwork& network, const KernelView& kernel) {
  KernelView view = kernel;
  view.runtime_ns = {};
  Noise none;
  const auto batch = make_batch({{view, {0}}}, trained.scale, trained.options.neighbour_cap);
  const torch::Tensor embedding = network.embed(*batch, none);
  const options::FeatureWidths widths = trained.scale.widths();
  const int64_t options = count_options(kernel, widths.tile);
  std::vector<float> rows = cost::option_rows(kernel, kernel.tiles, widths);
  trained.scale.tile.apply(rows);
  const torch::Tensor tiles = torch::from_blob(rows.data(), {options, widths.option()});
  constexpr int64_t kAtOnce = 1024;
  std::vector<double> scores;
  for (int64_t first = 0; first < options; first += kAtOnce) {
    const torch::Tensor part = tiles.narrow(0, first, std::min(kAtOnce, options - first));
    const std::vector<double> values = to_vector(network.score_options(embedding, {}, part, none));
    scores.insert(scores.end(), values.begin(), values.end());
  }
  return scores;
}

std::vector<double> batched_scores(const Trained& trained, const KernelView& kernel) {
  KernelView view = kernel;
  view.runtime_ns = {};
  Noise none;
  const int64_t options = count_options(kernel, trained.scale.widths().tile);
  const int64_t at_once = std::max<int64_t>(1, kMaxRows / std::max<int64_t>(kernel.nodes(), 1));
  std::vector<double> scores;
  for (int64_t first = 0; first < options; first += at_once) {
    BatchItem item{view, std::vector<int32_t>(std::min(at_once, options - first))};
    std::iota(item.options.begin(), item.options.end(), static_cast<int32_t>(first));
    const auto batch = make_batch({item}, trained.scale, trained.options.neighbour_cap);
    const std::vector<double> values = to_vector(trained.network->forward(*batch, none));
    scores.insert(scores.end(), values.begin(), values.end());
  }
  return scores;
}

class OpenedModel : public cost::LearnedModel {
 public:
  explicit OpenedModel(Trained trained) : trained_(std::move(trained)) {}
  std::string name() const override { return options::find_model(trained_.options.name).name; }
  std::string task() const override { return trained_.task; }
  bool predicts_runtime() const override { return trained_.loss == "mse"; }
  bool predicts_ratios() const override { return trained_.loss == "ratio"; }
  std::vector<double> predict(const KernelView& kernel) override { return predict_options(trained_, kernel); }

 private:
  Trained trained_;
};

}  // namespace

options::StoredTensor to_stored(const torch::Tensor& tensor) {
  const torch::Tensor plain = tensor.detach().contiguous();
  return {dtype_name(plain.scalar_type()), plain.sizes().vec(),
          std::string(static_cast<const char*>(plain.data_ptr()), plain.nbytes())};
}

void copy_stored(const options::StoredTensor& stored, const std::string& name, torch::Tensor& into) {
  if (stored.shape != into.sizes().vec() || stored.dtype != dtype_name(into.scalar_type()))
    throw Error("weights do not fit the model: " + name);
  std::memcpy(into.data_ptr(), stored.bytes.data(), stored.bytes.size());
}

void put_parameters(const torch::nn::Module& module, const std::string& prefix, options::TensorFile& file) {
  for (const auto& parameter : module.named_parameters())
    file.tensors[prefix + parameter.key()] = to_stored(parameter.value());
}

void take_parameters(const options::TensorFile& file, const std::string& prefix, torch::nn::Module& module) {
  torch::NoGradGuard no_gradient;
  for (auto& parameter : module.named_parameters()) {
    const auto found = file.tensors.find(prefix + parameter.key());
    if (found == file.tensors.end()) throw Error("weights do not fit the model: missing " + parameter.key());
    copy_stored(found->second, parameter.key(), parameter.value());
  }
}

void save_weights(const std::string& path, const Trained& trained) {
  options::TensorFile file;
  file.metadata = {
      {"format", kFormat},
      {"feature_version", std::to_string(features::kFeatureVersion)},
      {"model", to_json(trained.options).dump()},
      {"scaler", to_json(trained.scale).dump()},
      {"task", trained.task},
      {"loss", trained.loss},
      {"target", nlohmann::json{{"log_mean", trained.log_mean}, {"log_deviation", trained.log_deviation}}.dump()},
      {"command", trained.command},
      {"seed", std::to_string(trained.seed)}};
  put_parameters(*trained.network, "", file);
  options::write_safetensors(path, file);
}

Trained load_weights(const std::string& path) {
  const options::TensorFile file = options::read_safetensors(path);
  try {
    return from_file(file);
  } catch (const Error& e) {
    throw Error(e.what(), path, e.hint());
  }
}

std::vector<double> predict_options(Trained& trained, const KernelView& kernel) {
  const torch::InferenceMode inference;
  auto* fast = dynamic_cast<FastNetwork*>(trained.network.get());
  std::vector<double> values = fast ? fast_scores(trained, *fast, kernel) : batched_scores(trained, kernel);
  if (trained.loss == "mse")
    for (double& value : values) value = std::exp(value * trained.log_deviation + trained.log_mean);
  return values;
}

std::unique_ptr<cost::LearnedModel> open_learned_model(const std::string& weights_path) {
  return std::make_unique<OpenedModel>(load_weights(weights_path));
}

}  // namespace hone::learn
