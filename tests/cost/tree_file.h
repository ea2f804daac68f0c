// Files of trees for tests.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "features/encoded.h"
#include "options/safetensors.h"

namespace hone::cost {

template <class T>
options::StoredTensor tensor(const char* dtype, const std::vector<T>& values) {
  return {dtype,
          {static_cast<int64_t>(values.size())},
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T))};
}

inline std::vector<float> floats_in(const options::StoredTensor& stored) {
  std::vector<float> values(stored.bytes.size() / sizeof(float));
  std::memcpy(values.data(), stored.bytes.data(), stored.bytes.size());
  return values;
}

// One tree: leaves[0] where the feature is below the value, else leaves[1].
inline options::TensorFile split_file(const std::vector<std::string>& features, const std::string& feature, float value,
                                      std::array<float, 2> leaves, const std::map<std::string, std::string>& metadata) {
  const auto at = std::find(features.begin(), features.end(), feature) - features.begin();
  options::TensorFile file;
  file.metadata = {{"format", "hone-trees-1"},
                   {"features", nlohmann::json(features).dump()},
                   {"feature_version", std::to_string(features::kFeatureVersion)}};
  for (const auto& [key, text] : metadata) file.metadata[key] = text;
  file.tensors = {{"feature", tensor<int16_t>("I16", {static_cast<int16_t>(at), -1, -1})},
                  {"value", tensor<float>("F32", {value, leaves[0], leaves[1]})},
                  {"left", tensor<int32_t>("I32", {1, 0, 0})},
                  {"roots", tensor<int32_t>("I32", {0})}};
  return file;
}

}  // namespace hone::cost
