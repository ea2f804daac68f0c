#include "data/stored_kernel.h"

#include <zlib.h>

#include <cstring>

#include "base/error.h"

namespace hone {

namespace {

constexpr uint64_t kLargestBytes = uint64_t{1} << 31;  // unpacked

}  // namespace

Kernel kernel_of(const StoredKernel& stored) {
  Kernel kernel;
  kernel.fingerprint = stored.fingerprint;
  kernel.name = stored.name;
  kernel.kind = stored.kind;
  kernel.hlo = stored.hlo;
  kernel.module = stored.module_proto;
  kernel.flops = stored.flops;
  kernel.bytes_read = stored.bytes_read;
  kernel.bytes_written = stored.bytes_written;
  kernel.bytes = stored.bytes_read + stored.bytes_written;
  kernel.transcendentals = stored.transcendentals;
  kernel.default_tile = stored.default_tile;
  kernel.dimension.options = {stored.options.at(stored.default_option)};
  return kernel;
}

std::string pack_bytes(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(sizeof(uint64_t) + size, '\0');
  const uint64_t unpacked = bytes.size();
  std::memcpy(packed.data(), &unpacked, sizeof unpacked);
  if (compress2(reinterpret_cast<Bytef*>(packed.data() + sizeof unpacked), &size,
                reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_DEFAULT_COMPRESSION) != Z_OK)
    throw RunError("out of memory while packing a kernel");
  packed.resize(sizeof unpacked + size);
  return packed;
}

std::string unpack_bytes(std::string_view packed) {
  uint64_t size = 0;
  if (packed.size() < sizeof size) throw Error("packed bytes are truncated");
  std::memcpy(&size, packed.data(), sizeof size);
  packed.remove_prefix(sizeof size);
  // zlib compresses at most about 1000-fold: a larger size means damage, so do not allocate it.
  if (size > kLargestBytes || size > 1100 * (packed.size() + 1)) throw Error("packed bytes are damaged");
  std::string bytes(size, '\0');
  uLongf got = size;
  if (uncompress(reinterpret_cast<Bytef*>(bytes.data()), &got, reinterpret_cast<const Bytef*>(packed.data()),
                 packed.size()) != Z_OK ||
      got != size)
    throw Error("packed bytes are damaged");
  return bytes;
}

}  // namespace hone
