// One shard of a data set: a file of encoded kernels and their run times, read in place from mapped memory.
//
// Header (64 bytes), then the arrays of all kernels, each at a multiple of 64 bytes, then the index: one entry per kernel.
// Numbers are little-endian. The header has the feature version, the widths of the rows, a CRC-32 of itself and one of the
// rest of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/kernel_view.h"

namespace hone {

inline constexpr char kShardMagic[9] = "HONESHRD";
inline constexpr uint32_t kShardFormat = 1;
inline constexpr int64_t kShardAlignment = 64;

struct ShardHeader {
  char magic[8];
  uint32_t format, feature_version;
  uint32_t node_width, static_width, tile_width;  // floats per row
  uint32_t body_crc;                              // of the bytes after the header
  uint64_t kernels, index_offset, file_bytes;
  uint32_t reserved, header_crc;  // of the bytes before it
};
static_assert(sizeof(ShardHeader) == kShardAlignment);

// Sets the checksums: that of the header only, or also that of the body.
void seal(ShardHeader& header);
void seal(std::string& file);

// Offsets of one kernel's arrays, in bytes from the start of the file.
struct ShardEntry {
  uint64_t names, opcodes, node_features, static_features, edge_from, edge_to, tiles, runtime_ns;
  uint64_t nodes, edges, options;
  uint32_t name_bytes[4];  // fingerprint, program, family, kind: one after the other at `names`
  int32_t default_option;
  uint32_t reserved;
};

// Collects kernels in memory and writes them as one file.
class ShardBuilder {
 public:
  ShardBuilder();
  void add(const KernelView& kernel);
  static int64_t bytes_of(const KernelView& kernel);  // at most, in a shard
  int64_t bytes() const { return static_cast<int64_t>(content_.size() + index_.size() * sizeof(ShardEntry)); }
  int64_t kernels() const { return static_cast<int64_t>(index_.size()); }
  // Replaces the file atomically. Throws RunError (where = path). The builder is empty afterwards.
  void write(const std::string& path);

 private:
  template <class T>
  uint64_t append(const T* data, size_t count);  // returns the offset
  std::string content_;                          // header and arrays
  std::vector<ShardEntry> index_;
};

// A shard in mapped memory.
class Shard {
 public:
  // nullopt if the file is damaged: truncated, wrong checksums, offsets outside the file. Throws Error if it is valid but
  // has another feature version or other widths, or cannot be read.
  static std::optional<Shard> open(const std::string& path);
  ~Shard();
  Shard(Shard&& other) noexcept;
  Shard& operator=(Shard&& other) noexcept;

  int64_t kernels() const { return static_cast<int64_t>(header().kernels); }
  KernelView kernel(int64_t index) const;

 private:
  Shard(const char* data, size_t size) : data_(data), size_(size) {}
  bool sound() const;
  bool inside(const ShardEntry& entry) const;
  const ShardHeader& header() const { return *reinterpret_cast<const ShardHeader*>(data_); }
  const ShardEntry& entry(int64_t index) const;

  const char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace hone
