// A memory-mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace hone {

// Maps a regular file for reading; the bytes live as long as this object. Throws Error (where = path) if it is not a
// readable file. If the file shrinks while it is mapped, access to the lost part ends the process (SIGBUS).
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const uint8_t> bytes() const { return {static_cast<const uint8_t*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace hone
