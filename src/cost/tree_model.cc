#include "cost/tree_model.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json_text.h"
#include "cost/kernel_features.h"
#include "features/encoded.h"

namespace hone::cost {
namespace {

constexpr char kFormat[] = "hone-trees-1";
constexpr char kRunTime[] = "run time", kOverWork[] = "run time over work", kRatio[] = "ratio";

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

// Throws Error where the trees are not of these features, and nlohmann::json::exception for damaged metadata.
Trees trees_of(const options::TensorFile& file, const std::vector<std::string>& features) {
  const auto names = nlohmann::json::parse(shallow_json(metadata(file, "features"))).get<std::vector<std::string>>();
  if (names != features || metadata(file, "feature_version") != std::to_string(features::kFeatureVersion))
    throw Error("the trees were trained with other features", "", "make models trains them again");
  const auto feature = numbers<int16_t>(file, "feature", "I16");
  const std::vector<float> value = floats_of(file, "value");
  const auto left = numbers<int32_t>(file, "left", "I32"), roots = numbers<int32_t>(file, "roots", "I32");
  const double base = nlohmann::json::parse(shallow_json(metadata(file, "base"))).get<double>();
  return Trees::from_arrays({base, feature, value, left, roots}, names.size());
}

const std::vector<std::string>& features_with_work() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = kernel_feature_names();
    for (std::string& name : work_feature_names(kernel_work_term_names())) all.push_back(std::move(name));
    return all;
  }();
  return names;
}

std::unique_ptr<LearnedModel> model_of(const options::TensorFile& file, const features::Cpu& cpu) {
  const std::string &task = metadata(file, "task"), &predicts = metadata(file, "predicts");
  const bool over_work = predicts == kOverWork, run_time = predicts == kRunTime || over_work;
  Trees trees = trees_of(file, over_work ? features_with_work() : kernel_feature_names());
  if ((task != "tile" && task != "fusion") || (!run_time && predicts != kRatio))
    throw Error("trees that predict " + predicts + " of " + task + " are not known");
  std::optional<WorkModel> work;
  std::optional<KernelNetwork> network;
  if (over_work) {
    work.emplace(floats_of(file, "work"), kernel_work_term_names(), kernel_feature_names(), kMostOverAnalytical);
    network = KernelNetwork::in(file, features_with_work().size());
  }
  return std::make_unique<TreeModel>(std::move(trees), task, run_time, cpu, std::move(work), std::move(network));
}

}  // namespace

std::vector<float> floats_of(const options::TensorFile& file, const char* name) {
  return numbers<float>(file, name, "F32");
}

Trees open_trees(const std::string& path, const TreeKind& kind) {
  return open_trees(options::read_safetensors(path), path, kind);
}

Trees open_trees(const options::TensorFile& file, const std::string& path, const TreeKind& kind) {
  try {
    const auto is = [&](const char* key, const char* value) {
      const auto found = file.metadata.find(key);
      return found != file.metadata.end() && found->second == value;
    };
    if (!holds_trees(file) || !is("task", kind.task) || !is("predicts", kind.predicts)) throw Error(kind.refusal);
    return trees_of(file, kind.features);
  } catch (const nlohmann::json::exception& e) {
    throw Error(std::string("the trees' metadata are damaged: ") + e.what(), path);
  } catch (const Error& e) {
    throw Error(e.what(), path, kind.remedy);
  }
}

KernelRows kernel_rows(std::span<const KernelView> kernels, const features::Cpu& cpu, const WorkModel* work) {
  KernelRows rows;
  const size_t width = features::tile_feature_count();
  for (const KernelView& kernel : kernels) {
    if (kernel.tiles.size() % width != 0)
      throw Error("options of a kernel have the wrong width", std::string(kernel.fingerprint));
    const KernelFeatures features(kernel, cpu);
    for (size_t at = 0; at < kernel.tiles.size(); at += width) {
      const size_t begin = rows.features.size();
      const double ns = features.append(kernel.tiles.subspan(at, width), rows.features);
      rows.base_ns.push_back(work ? work->append(ns, rows.features, begin) : ns);
    }
    rows.ends.push_back(rows.base_ns.size());
  }
  return rows;
}

std::vector<std::vector<double>> TreeModel::predict_rows(const KernelRows& rows) const {
  std::vector<double> scores = trees_.predict_rows(rows.features);
  if (network_) {
    const std::vector<double> others = network_->predict_rows(rows.features);
    for (size_t o = 0; o < scores.size(); ++o) scores[o] += kNetworkShare * (others[o] - scores[o]);
  }
  if (run_time_)
    for (size_t o = 0; o < scores.size(); ++o) scores[o] = rows.base_ns[o] * std::exp(scores[o]);
  std::vector<std::vector<double>> all;
  size_t begin = 0;
  for (const size_t end : rows.ends) {
    all.emplace_back(scores.begin() + static_cast<std::ptrdiff_t>(begin),
                     scores.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
  return all;
}

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
