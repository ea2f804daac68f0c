#include "cost/tree_model.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cost/kernel_features.h"
#include "cost/trees.h"
#include "features/encoded.h"

namespace hone::cost {
namespace {

constexpr char kFormat[] = "hone-trees-1";
constexpr char kRunTime[] = "run time", kRatio[] = "ratio";

class TreeModel : public LearnedModel {
 public:
  TreeModel(Trees trees, std::string task, bool run_time, const features::Cpu& cpu)
      : trees_(std::move(trees)), task_(std::move(task)), run_time_(run_time), cpu_(cpu) {}
  std::string name() const override { return "trees"; }
  std::string task() const override { return task_; }
  bool predicts_runtime() const override { return run_time_; }
  bool predicts_ratios() const override { return !run_time_; }

  std::vector<double> predict(const KernelView& kernel) override {
    const KernelFeatures features(kernel, cpu_);
    const size_t width = features::tile_feature_count(), options = kernel.tiles.size() / width;
    std::vector<float> rows;
    std::vector<double> estimates;
    for (size_t o = 0; o < options; ++o) {
      const auto option = kernel.tiles.subspan(o * width, width);
      const std::vector<float> row = features.of(option);
      rows.insert(rows.end(), row.begin(), row.end());
      if (run_time_) estimates.push_back(features.analytical_ns(option));
    }
    std::vector<double> scores = trees_.predict_rows(rows);
    if (run_time_)
      for (size_t o = 0; o < options; ++o) scores[o] = estimates[o] * std::exp(scores[o]);
    return scores;
  }

 private:
  Trees trees_;
  std::string task_;
  bool run_time_;
  features::Cpu cpu_;
};

const std::string& metadata(const options::TensorFile& file, const char* key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) throw Error(std::string("no ") + key + " in the trees' metadata");
  return found->second;
}

template <class T>
std::vector<T> numbers(const options::TensorFile& file, const char* name, const char* dtype) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end() || found->second.dtype != dtype) throw Error(std::string("no trees: ") + name);
  std::vector<T> values(found->second.bytes.size() / sizeof(T));
  std::memcpy(values.data(), found->second.bytes.data(), values.size() * sizeof(T));
  return values;
}

std::unique_ptr<LearnedModel> model_of(const options::TensorFile& file, const features::Cpu& cpu) {
  const auto names = nlohmann::json::parse(metadata(file, "features")).get<std::vector<std::string>>();
  if (names != kernel_feature_names() || metadata(file, "feature_version") != std::to_string(features::kFeatureVersion))
    throw Error("the trees were trained with other features", "", "make models trains them again");
  const std::string &task = metadata(file, "task"), &predicts = metadata(file, "predicts");
  if ((task != "tile" && task != "fusion") || (predicts != kRunTime && predicts != kRatio))
    throw Error("trees that predict " + predicts + " of " + task + " are not known");
  const auto feature = numbers<int16_t>(file, "feature", "I16");
  const auto value = numbers<float>(file, "value", "F32");
  const auto left = numbers<int32_t>(file, "left", "I32"), roots = numbers<int32_t>(file, "roots", "I32");
  const double base = nlohmann::json::parse(metadata(file, "base")).get<double>();
  return std::make_unique<TreeModel>(Trees::from_arrays({base, feature, value, left, roots}, names.size()), task,
                                     predicts == kRunTime, cpu);
}

}  // namespace

bool holds_trees(const options::TensorFile& file) {
  const auto format = file.metadata.find("format");
  return format != file.metadata.end() && format->second == kFormat;
}

std::unique_ptr<LearnedModel> open_tree_model(const options::TensorFile& file, const std::string& path,
                                              const features::Cpu& cpu) {
  try {
    return model_of(file, cpu);
  } catch (const nlohmann::json::exception& e) {
    throw Error(std::string("the trees' metadata are damaged: ") + e.what(), path);
  } catch (const Error& e) {
    throw Error(e.what(), path, e.hint());
  }
}

}  // namespace hone::cost
