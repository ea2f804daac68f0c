// The numbers of a stored tensor.
#pragma once

#include <cstring>

#include "base/error.h"
#include "options/safetensors.h"

namespace hone::options {

// Throws Error unless the file has the tensor with this type ("F32") and shape. T is the type's own.
template <class T>
std::vector<T> tensor_values(const TensorFile& file, const std::string& name, const char* dtype,
                             const std::vector<int64_t>& shape) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) throw Error("weights do not fit the model: missing " + name);
  const StoredTensor& stored = found->second;
  if (stored.dtype != dtype || stored.shape != shape)
    throw Error("weights do not fit the model: " + name + " has another shape or type");
  std::vector<T> values(stored.bytes.size() / sizeof(T));
  std::memcpy(values.data(), stored.bytes.data(), stored.bytes.size());
  return values;
}

}  // namespace hone::options
