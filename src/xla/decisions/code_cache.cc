#include "decisions/code_cache.h"

#include <cstring>

#include "base/error.h"

namespace hone::xla_side {
namespace {

constexpr uint64_t kLinkedBytes = 512u << 20;  // of objects whose code stays in this process
constexpr uint64_t kIrBytes = 128u << 20;

void append(std::string& text, uint64_t number) { text.append(reinterpret_cast<const char*>(&number), sizeof number); }

// A KernelObject as the store has it.
std::string pack(const KernelObject& kernel) {
  std::string text;
  const auto& d = kernel.dimensions;
  for (const uint64_t n :
       {d.num_work_clusters.x, d.num_work_clusters.y, d.num_work_clusters.z, d.num_work_groups.x, d.num_work_groups.y,
        d.num_work_groups.z, d.num_work_items.x, d.num_work_items.y, d.num_work_items.z})
    append(text, n);
  append(text, d.work_tile_size.dimensions.size());
  for (const uint64_t n : d.work_tile_size.dimensions) append(text, n);
  append(text, static_cast<uint64_t>(kernel.compile_ms * 1000));
  return text + kernel.object;
}

std::optional<KernelObject> unpack(std::string_view text) {
  const auto number = [&]() -> std::optional<uint64_t> {
    uint64_t n = 0;
    if (text.size() < sizeof n) return std::nullopt;
    std::memcpy(&n, text.data(), sizeof n);
    text.remove_prefix(sizeof n);
    return n;
  };
  KernelObject kernel;
  auto& d = kernel.dimensions;
  for (uint64_t* n :
       {&d.num_work_clusters.x, &d.num_work_clusters.y, &d.num_work_clusters.z, &d.num_work_groups.x,
        &d.num_work_groups.y, &d.num_work_groups.z, &d.num_work_items.x, &d.num_work_items.y, &d.num_work_items.z}) {
    const auto value = number();
    if (!value) return std::nullopt;
    *n = *value;
  }
  const auto sizes = number();
  if (!sizes || *sizes > text.size() / sizeof(uint64_t)) return std::nullopt;
  for (uint64_t i = 0; i < *sizes; ++i) d.work_tile_size.dimensions.push_back(*number());
  const auto us = number();
  if (!us || text.empty()) return std::nullopt;
  kernel.compile_ms = static_cast<double>(*us) / 1000;
  kernel.object = text;
  return kernel;
}

}  // namespace

CodeCounters& CodeCounters::operator+=(const CodeCounters& other) {
  reused += other.reused;
  linked += other.linked;
  relinked += other.relinked;
  compiled += other.compiled;
  resumed += other.resumed;
  saved_ms += other.saved_ms;
  return *this;
}

std::optional<LinkedKernel> CodeCache::find_linked(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = linked_.find(key);
  if (found == linked_.end()) return std::nullopt;
  return found->second;
}

void CodeCache::add_linked(const std::string& key, LinkedKernel kernel) {
  const std::lock_guard lock(mutex_);
  if (linked_bytes_ + kernel.bytes > kLinkedBytes) linked_.clear(), linked_bytes_ = 0;
  const uint64_t bytes = kernel.bytes;
  if (linked_.emplace(key, std::move(kernel)).second) linked_bytes_ += bytes;
}

std::optional<KernelObject> CodeCache::find_object(const std::string& key) {
  if (!store_) return std::nullopt;
  const std::optional<std::string> value = store_->get(key);
  return value ? unpack(*value) : std::nullopt;
}

void CodeCache::store_object(const std::string& key, const KernelObject& object) {
  if (store_) store_->put(key, pack(object));
}

std::optional<KernelObject> CodeCache::find_by_ir(const std::string& key, bool* from_disk) {
  {
    const std::lock_guard lock(mutex_);
    *from_disk = false;
    if (const auto found = by_ir_.find(key); found != by_ir_.end()) return found->second;
  }
  std::optional<KernelObject> object = find_object(key);
  *from_disk = object.has_value();
  if (object) remember_ir(key, *object);
  return object;
}

void CodeCache::add_by_ir(const std::string& key, const KernelObject& object) {
  store_object(key, object);
  remember_ir(key, object);
}

void CodeCache::remember_ir(const std::string& key, const KernelObject& object) {
  const std::lock_guard lock(mutex_);
  if (ir_bytes_ + object.object.size() > kIrBytes) by_ir_.clear(), ir_bytes_ = 0;
  if (by_ir_.emplace(key, object).second) ir_bytes_ += object.object.size();
}

void CodeCache::count(const CodeCounters& counters) {
  const std::lock_guard lock(mutex_);
  counters_ += counters;
}

CodeCounters CodeCache::counters() {
  const std::lock_guard lock(mutex_);
  return counters_;
}

CodeTable& code_table() {
  static CodeTable table;
  return table;
}

}  // namespace hone::xla_side
