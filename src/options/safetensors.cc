#include "options/safetensors.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"

namespace hone::options {

namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr const char* kMetadata = "__metadata__";

int64_t item_bytes(const std::string& dtype) {
  if (dtype == "F64" || dtype == "I64" || dtype == "U64") return 8;
  if (dtype == "F32" || dtype == "I32" || dtype == "U32") return 4;
  if (dtype == "F16" || dtype == "BF16" || dtype == "I16" || dtype == "U16") return 2;
  if (dtype == "U8" || dtype == "I8" || dtype == "BOOL") return 1;
  return 0;
}

[[noreturn]] void damaged(const std::string& what, const std::string& where) {
  throw Error("not a valid safetensors file: " + what, where);
}

// The size of a tensor of this type and shape in bytes; throws if these are invalid.
uint64_t expected_bytes(const StoredTensor& tensor, const std::string& name, const std::string& where) {
  uint64_t bytes = static_cast<uint64_t>(item_bytes(tensor.dtype));
  if (bytes == 0) damaged(name + " has an unknown type " + tensor.dtype, where);
  for (int64_t dim : tensor.shape)
    if (dim < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes))
      damaged(name + " has a bad shape", where);
  return bytes;
}

StoredTensor read_tensor(const nlohmann::json& entry, const std::string& name, std::string_view data,
                         const std::string& where) {
  StoredTensor tensor;
  uint64_t begin = 0, end = 0;
  try {
    entry.at("dtype").get_to(tensor.dtype);
    entry.at("shape").get_to(tensor.shape);
    const nlohmann::json& offsets = entry.at("data_offsets");
    if (offsets.size() != 2) damaged(name + " does not have two offsets", where);
    begin = offsets[0].get<uint64_t>();
    end = offsets[1].get<uint64_t>();
  } catch (const nlohmann::json::exception&) {
    damaged(name + " has an invalid description", where);
  }
  if (begin > end || end > data.size()) damaged(name + " lies outside the file", where);
  if (end - begin != expected_bytes(tensor, name, where))
    damaged(name + " has a size that does not match its shape", where);
  tensor.bytes = std::string(data.substr(begin, end - begin));
  return tensor;
}

}  // namespace

std::string encode_safetensors(const TensorFile& file) {
  nlohmann::json header = nlohmann::json::object();
  if (!file.metadata.empty()) header[kMetadata] = file.metadata;
  uint64_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    if (name == kMetadata || tensor.bytes.size() != expected_bytes(tensor, name, "writing"))
      throw InternalError("safetensors: bad tensor " + name);
    header[name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string content(8 + text.size(), '\0');
  std::memcpy(content.data(), &length, 8);
  std::memcpy(content.data() + 8, text.data(), text.size());
  content.reserve(content.size() + offset);
  for (const auto& [name, tensor] : file.tensors) content += tensor.bytes;
  return content;
}

TensorFile decode_safetensors(const std::string& content, const std::string& where) {
  uint64_t length = 0;
  if (content.size() < 8) damaged("too short", where);
  std::memcpy(&length, content.data(), 8);
  if (length > kMaxHeaderBytes || length > content.size() - 8) damaged("the header is longer than the file", where);
  const nlohmann::json header =
      nlohmann::json::parse(shallow_json(std::string_view(content).substr(8, length)), nullptr, false);
  if (!header.is_object()) damaged("the header is not JSON", where);
  const std::string_view data = std::string_view(content).substr(8 + length);
  TensorFile file;
  uint64_t total = 0;
  for (const auto& [name, entry] : header.items()) {
    if (name != kMetadata) {
      const StoredTensor& tensor = file.tensors[name] = read_tensor(entry, name, data, where);
      total += tensor.bytes.size();
      if (total > data.size()) damaged("its tensors overlap", where);  // before many copies of the same bytes are made
      continue;
    }
    try {
      entry.get_to(file.metadata);
    } catch (const nlohmann::json::exception&) {
      damaged("the metadata are not text", where);
    }
  }
  // Tensors must cover the data exactly: undescribed bytes could be anything.
  if (total != data.size()) damaged("bytes are missing or left over", where);
  return file;
}

void write_safetensors(const std::string& path, const TensorFile& file) { write_file(path, encode_safetensors(file)); }

TensorFile read_safetensors(const std::string& path) { return decode_safetensors(read_file(path), path); }

}  // namespace hone::options
