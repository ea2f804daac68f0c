// The subset of zip archives that .npz files need, in memory: stored and deflated members, zip64.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hone {

struct ZipMember {
  std::string name;
  bool deflated = false;
  std::span<const uint8_t> packed;  // within the archive
  uint64_t size = 0;                // bytes unpacked
  uint32_t crc = 0;                 // of the unpacked bytes
};

bool is_zip(std::span<const uint8_t> archive);
// The members, in the order of the central directory; folders are omitted. `where` is the archive's name in errors.
// Throws Error if the archive is truncated, damaged, encrypted or compressed by another method.
std::vector<ZipMember> list_zip(std::span<const uint8_t> archive, const std::string& where);
// A member's bytes: the archive's own if stored, else unpacked into `storage`. Checks size and CRC; throws Error.
std::span<const uint8_t> unpack(const ZipMember& member, std::vector<uint8_t>& storage, const std::string& where);

// A member unpacked in pieces, for members that do not fit into memory. The archive must outlive it.
class ZipStream {
 public:
  ZipStream(const ZipMember& member, const std::string& where);
  ~ZipStream();
  // Fills `out` with the next bytes. Throws Error if fewer are left or the member is damaged.
  void read(std::span<uint8_t> out);
  uint64_t left() const { return member_.size - done_; }
  // Must be called at the end. Throws Error if the member is longer than its header says or its checksum differs.
  void finish();

 private:
  struct Inflater;
  ZipMember member_;
  std::string where_;
  std::unique_ptr<Inflater> inflater_;  // of a deflated member
  uint64_t done_ = 0;
  uint32_t crc_ = 0;
};

// Builds an archive. Every member is written in the zip64 form, so that size needs no separate code; the date is fixed,
// so that equal members give equal archives.
class ZipWriter {
 public:
  explicit ZipWriter(bool deflated) : deflated_(deflated) {}
  void add(const std::string& name, std::span<const uint8_t> bytes);
  std::vector<uint8_t> finish();

 private:
  struct Entry {
    std::string name;
    uint64_t size, packed_size, offset;
    uint32_t crc;
  };
  bool deflated_;
  std::vector<uint8_t> archive_;
  std::vector<Entry> entries_;
};

}  // namespace hone
