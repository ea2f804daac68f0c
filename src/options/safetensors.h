// The safetensors file format (huggingface.co/docs/safetensors): 8 bytes little-endian header length, a JSON header
// {"__metadata__": {string: string}, name: {"dtype", "shape", "data_offsets": [begin, end)}}, then the bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hone::options {

struct StoredTensor {
  std::string dtype;  // "F32", "F64", "I64", "U8"
  std::vector<int64_t> shape;
  std::string bytes;  // row-major, little-endian
  bool operator==(const StoredTensor&) const = default;
};

struct TensorFile {
  std::map<std::string, std::string> metadata;
  std::map<std::string, StoredTensor> tensors;
};

// Equal content gives equal bytes; the data begin at a multiple of 8. Throws RunError (where = path).
void write_safetensors(const std::string& path, const TensorFile& file);
// Throws Error (where = path) for anything that is not a valid safetensors file.
TensorFile read_safetensors(const std::string& path);

std::string encode_safetensors(const TensorFile& file);
TensorFile decode_safetensors(const std::string& content, const std::string& where);

}  // namespace hone::options
