#include "data/code_store.h"

#include <cstring>

#include "base/sha256.h"
#include "data/stored_kernel.h"

namespace hone {
namespace {

constexpr uint64_t kMostBytes = uint64_t{64} << 30;  // of the folder
constexpr uint32_t kNotCompiled = 0xffffffff;        // in place of the number of objects

std::string hashed(const CodeKey& key) {
  Sha256 hash;
  for (const std::string* part : {&key.kernel, &key.option, &key.isa, &key.xla_version}) hash.add(*part).add("\n");
  return hash.hex();
}

void append(std::string& text, uint32_t number) { text.append(reinterpret_cast<const char*>(&number), sizeof number); }

std::optional<uint32_t> take_number(std::string_view& text) {
  uint32_t number = 0;
  if (text.size() < sizeof number) return std::nullopt;
  std::memcpy(&number, text.data(), sizeof number);
  text.remove_prefix(sizeof number);
  return number;
}

}  // namespace

CodeStore::CodeStore(const std::string& folder) : store_({folder, kMostBytes}) {}

std::optional<KernelCode> CodeStore::find(const CodeKey& key) {
  const std::optional<std::string> packed = store_.get(hashed(key));
  if (!packed) return std::nullopt;
  const std::string unpacked = unpack_bytes(*packed);
  std::string_view text = unpacked;
  const std::optional<uint32_t> count = take_number(text);
  if (!count) return std::nullopt;
  if (*count == kNotCompiled) return KernelCode{.compiled = false};
  KernelCode code;
  for (uint32_t i = 0; i < *count; ++i) {
    const std::optional<uint32_t> size = take_number(text);
    if (!size || *size > text.size()) return std::nullopt;
    code.objects.emplace_back(text.substr(0, *size));
    text.remove_prefix(*size);
  }
  return code;
}

bool CodeStore::add(const CodeKey& key, const KernelCode& code) {
  std::string text;
  append(text, code.compiled ? static_cast<uint32_t>(code.objects.size()) : kNotCompiled);
  for (const std::string& object : code.objects) {
    append(text, static_cast<uint32_t>(object.size()));
    text += object;
  }
  return store_.put(hashed(key), pack_bytes(text));
}

}  // namespace hone
