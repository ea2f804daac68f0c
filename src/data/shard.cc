#include "data/shard.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "features/encoded.h"

namespace hone {

namespace {

uint32_t crc(const char* data, size_t size) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(data), size));
}

uint32_t header_crc(const ShardHeader& header) {
  return crc(reinterpret_cast<const char*>(&header), offsetof(ShardHeader, header_crc));
}

ShardHeader empty_header() {
  ShardHeader header{};
  std::memcpy(header.magic, kShardMagic, sizeof header.magic);
  header.format = kShardFormat;
  header.feature_version = features::kFeatureVersion;
  header.node_width = features::node_feature_count();
  header.static_width = features::static_feature_count();
  header.tile_width = features::tile_feature_count();
  return header;
}

template <class T>
std::span<const T> array_at(const char* data, uint64_t offset, uint64_t count) {
  return {reinterpret_cast<const T*>(data + offset), count};
}

}  // namespace

void seal(ShardHeader& header) { header.header_crc = header_crc(header); }

void seal(std::string& file) {
  auto& header = *reinterpret_cast<ShardHeader*>(file.data());
  header.body_crc = crc(file.data() + sizeof header, file.size() - sizeof header);
  seal(header);
}

ShardBuilder::ShardBuilder() : content_(sizeof(ShardHeader), '\0') {}

template <class T>
uint64_t ShardBuilder::append(const T* data, size_t count) {
  content_.resize((content_.size() + kShardAlignment - 1) / kShardAlignment * kShardAlignment);
  const uint64_t offset = content_.size();
  if (count > 0) content_.append(reinterpret_cast<const char*>(data), count * sizeof(T));
  return offset;
}

int64_t ShardBuilder::bytes_of(const KernelView& k) {
  const size_t arrays = k.fingerprint.size() + k.program.size() + k.family.size() + k.kind.size() +
                        k.opcodes.size_bytes() + k.node_features.size_bytes() + k.static_features.size_bytes() +
                        k.edge_from.size_bytes() + k.edge_to.size_bytes() + k.tiles.size_bytes() +
                        k.runtime_ns.size_bytes();
  return static_cast<int64_t>(arrays + 9 * kShardAlignment + sizeof(ShardEntry));
}

void ShardBuilder::add(const KernelView& kernel) {
  ShardEntry entry{};
  std::string names;
  int i = 0;
  for (std::string_view name : {kernel.fingerprint, kernel.program, kernel.family, kernel.kind}) {
    names += name;
    entry.name_bytes[i++] = static_cast<uint32_t>(name.size());
  }
  entry.names = append(names.data(), names.size());
  entry.opcodes = append(kernel.opcodes.data(), kernel.opcodes.size());
  entry.node_features = append(kernel.node_features.data(), kernel.node_features.size());
  entry.static_features = append(kernel.static_features.data(), kernel.static_features.size());
  entry.edge_from = append(kernel.edge_from.data(), kernel.edge_from.size());
  entry.edge_to = append(kernel.edge_to.data(), kernel.edge_to.size());
  entry.tiles = append(kernel.tiles.data(), kernel.tiles.size());
  entry.runtime_ns = append(kernel.runtime_ns.data(), kernel.runtime_ns.size());
  entry.nodes = kernel.opcodes.size();
  entry.edges = kernel.edge_from.size();
  entry.options = kernel.runtime_ns.size();
  entry.default_option = kernel.default_option;
  index_.push_back(entry);
}

void ShardBuilder::write(const std::string& path) {
  ShardHeader header = empty_header();
  header.kernels = index_.size();
  header.index_offset = append(index_.data(), index_.size());
  header.file_bytes = content_.size();
  std::memcpy(content_.data(), &header, sizeof header);
  seal(content_);
  write_file(path, content_);
  content_.assign(sizeof(ShardHeader), '\0');
  index_.clear();
}

std::optional<Shard> Shard::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw Error(std::string("cannot read the shard: ") + std::strerror(errno), path);
  struct stat status{};
  void* mapped = MAP_FAILED;
  if (fstat(fd, &status) == 0 && status.st_size >= static_cast<off_t>(sizeof(ShardHeader)))
    mapped = mmap(nullptr, status.st_size, PROT_READ, MAP_SHARED, fd, 0);
  const bool too_short = status.st_size < static_cast<off_t>(sizeof(ShardHeader));
  const std::string why = std::strerror(errno);
  ::close(fd);
  if (too_short) return std::nullopt;
  if (mapped == MAP_FAILED) throw Error("cannot map the shard: " + why, path);

  Shard shard(static_cast<const char*>(mapped), status.st_size);
  const ShardHeader& header = shard.header();
  if (std::memcmp(header.magic, kShardMagic, sizeof header.magic) != 0 || header.header_crc != header_crc(header))
    return std::nullopt;
  const ShardHeader expected = empty_header();
  if (header.format != expected.format || header.feature_version != expected.feature_version)
    throw Error(fmt::format("the data set has format {} and feature version {}, this program has {} and {}",
                            header.format, header.feature_version, expected.format, expected.feature_version),
                path, "export it again with 'hone collect export'");
  if (header.node_width != expected.node_width || header.static_width != expected.static_width ||
      header.tile_width != expected.tile_width)
    throw Error("the widths of the data set's features differ from this program's", path,
                "export it again with 'hone collect export'");
  if (!shard.sound()) return std::nullopt;
  return shard;
}

Shard::~Shard() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

Shard::Shard(Shard&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Shard& Shard::operator=(Shard&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

bool Shard::sound() const {
  const ShardHeader& h = header();
  if (h.file_bytes != size_ || h.index_offset % kShardAlignment != 0 || h.index_offset > size_ ||
      h.kernels != (size_ - h.index_offset) / sizeof(ShardEntry))
    return false;
  if (h.body_crc != crc(data_ + sizeof h, size_ - sizeof h)) return false;
  for (int64_t i = 0; i < kernels(); ++i)
    if (!inside(entry(i))) return false;
  return true;
}

bool Shard::inside(const ShardEntry& e) const {
  const uint64_t end = header().index_offset;
  const auto fits = [&](uint64_t offset, uint64_t count, uint64_t bytes_each) {
    return offset % kShardAlignment == 0 && offset <= end && (bytes_each == 0 || count <= (end - offset) / bytes_each);
  };
  const uint64_t names = uint64_t{e.name_bytes[0]} + e.name_bytes[1] + e.name_bytes[2] + e.name_bytes[3];
  if (!(fits(e.names, names, 1) && fits(e.opcodes, e.nodes, 1) &&
        fits(e.node_features, e.nodes, 4ull * header().node_width) &&
        fits(e.static_features, header().static_width, 4) && fits(e.edge_from, e.edges, 4) &&
        fits(e.edge_to, e.edges, 4) && fits(e.tiles, e.options, 4ull * header().tile_width) &&
        fits(e.runtime_ns, e.options, 8)))
    return false;
  for (uint64_t offset : {e.edge_from, e.edge_to})
    for (int32_t node : array_at<int32_t>(data_, offset, e.edges))
      if (node < 0 || static_cast<uint64_t>(node) >= e.nodes) return false;
  for (double ns : array_at<double>(data_, e.runtime_ns, e.options))
    if (!(std::isfinite(ns) && ns > 0)) return false;
  return e.default_option >= -1 && e.default_option < static_cast<int64_t>(e.options);
}

const ShardEntry& Shard::entry(int64_t index) const {
  return reinterpret_cast<const ShardEntry*>(data_ + header().index_offset)[index];
}

KernelView Shard::kernel(int64_t index) const {
  const ShardEntry& e = entry(index);
  const ShardHeader& h = header();
  KernelView view;
  const char* name = data_ + e.names;
  int i = 0;
  for (std::string_view* text : {&view.fingerprint, &view.program, &view.family, &view.kind}) {
    *text = {name, e.name_bytes[i]};
    name += e.name_bytes[i++];
  }
  view.opcodes = array_at<uint8_t>(data_, e.opcodes, e.nodes);
  view.node_features = array_at<float>(data_, e.node_features, e.nodes * h.node_width);
  view.static_features = array_at<float>(data_, e.static_features, h.static_width);
  view.edge_from = array_at<int32_t>(data_, e.edge_from, e.edges);
  view.edge_to = array_at<int32_t>(data_, e.edge_to, e.edges);
  view.tiles = array_at<float>(data_, e.tiles, e.options * h.tile_width);
  view.runtime_ns = array_at<double>(data_, e.runtime_ns, e.options);
  view.default_option = e.default_option;
  return view;
}

}  // namespace hone
