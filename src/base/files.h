// Files: whole-file reading and writing, temporary folders, the program's own folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

inline constexpr uint64_t kMaxFileBytes = uint64_t{4} << 30;

// The whole content of a file; "-" reads standard input. Content that starts with the gzip magic bytes is unpacked,
// whatever the file is called. Throws Error (where = path) if the file is missing, a folder, unreadable, a damaged gzip
// file, or larger than the limit in bytes before or after unpacking.
std::string read_file(const std::string& path, uint64_t limit_bytes = kMaxFileBytes);

// Replaces the file in one step: readers see the old content or the new, never a part, and a failure leaves the old
// file and no temporary file. Devices and pipes are written to directly. Throws RunError (where = path).
void write_file(const std::string& path, std::string_view content);

// Writes all of it to a descriptor; false, with errno, where that fails.
bool write_all(int fd, std::string_view content);

// Paths of the files of a folder with this extension (".json"), in the order of their names. Throws Error (where = folder) where it
// cannot be read.
std::vector<std::string> files_in(const std::string& folder, std::string_view extension);

// A new folder under the system's temporary folder. The destructor removes it with its contents.
class TempDir {
 public:
  // In `parent`, or the system's folder for such if that is empty. Throws RunError.
  explicit TempDir(const std::string& prefix = "hone", const std::string& parent = "");
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The user's folder for data of Hone: hone below XDG_DATA_HOME, or below ~/.local/share. Empty where neither is set.
std::filesystem::path user_data_folder();

// The folder of the running program, with symbolic links resolved.
std::filesystem::path executable_dir();

}  // namespace hone
