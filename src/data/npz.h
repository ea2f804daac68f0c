// Arrays in NumPy's files: .npy (format versions 1 to 3) and .npz (zip, stored or deflated).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hone {

// A dense array. Bytes are little-endian, row-major.
struct NamedArray {
  std::string name;           // the key in an .npz; empty for .npy
  std::string type;           // as XLA prints it: pred, s8-s64, u8-u64, f16, bf16, f32, f64, c64, c128
  std::vector<int64_t> dims;  // empty for a scalar
  std::vector<uint8_t> bytes;
  bool operator==(const NamedArray&) const = default;
};

// Bytes per element; throws Error for a type NumPy's files cannot hold.
int64_t element_bytes(const std::string& type);

// Reads an .npz or .npy file, distinguished by content; "-" is standard input. Column-major and big-endian arrays are
// converted; two-byte void elements, which is how ml_dtypes' bfloat16 is saved, read as bf16. Members of an .npz that
// are not .npy are skipped. Throws Error with the file and array for truncated or damaged data, objects, strings and
// records.
std::vector<NamedArray> read_npz(const std::string& path);
// The same from memory; `where` is the source in errors.
std::vector<NamedArray> decode_npz(std::span<const uint8_t> file, const std::string& where);

// A memory-mapped .npz file whose arrays are unpacked on request. Errors as in read_npz.
class NpzFile {
 public:
  explicit NpzFile(const std::string& path);
  ~NpzFile();
  std::vector<std::string> names() const;  // of the arrays, in the order of the archive
  bool has(const std::string& name) const;
  NamedArray read(const std::string& name) const;  // throws Error when there is no such array
  // The same array in pieces of whole rows (of its first dimension): at least one row, at most `most_bytes` if possible. Only
  // one piece is in memory. A column-major array is one piece, an array without rows none.
  void read_pieces(const std::string& name, uint64_t most_bytes,
                   const std::function<void(const NamedArray& piece)>& take) const;

 private:
  struct Archive;
  std::string place_of(const std::string& name) const;
  std::string path_;
  std::unique_ptr<const Archive> archive_;
};

// Replaces the file atomically. Throws Error if names are not unique or sizes do not match dims; RunError if the file cannot
// be written. bf16 is written as two-byte void, like ml_dtypes.
void write_npz(const std::string& path, std::span<const NamedArray> arrays, bool compressed = false);
std::vector<uint8_t> encode_npz(std::span<const NamedArray> arrays, bool compressed = false);
// One array as an .npy file; its name is not stored.
std::vector<uint8_t> encode_npy(const NamedArray& array);

}  // namespace hone
