#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr size_t kChunkBytes = 1 << 20;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ > 2) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd() const { return fd_; }
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

std::string reason() { return std::generic_category().message(errno); }

[[noreturn]] void throw_too_large(const std::string& path, uint64_t limit_bytes) {
  throw Error(fmt::format("larger than the limit of {}", human_bytes(static_cast<double>(limit_bytes))), path,
              "give a smaller program, for instance without its weights");
}

std::string read_all(int fd, const std::string& path, uint64_t limit_bytes, uint64_t expected_bytes) {
  std::string content;
  size_t size = 0;
  content.resize(std::min(expected_bytes + 1, limit_bytes + 1));
  for (;;) {
    if (size == content.size()) content.resize(std::min<uint64_t>(size + std::max(size, kChunkBytes), limit_bytes + 1));
    const ssize_t got = ::read(fd, content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error("cannot be read: " + reason(), path, "give a readable file, or - for standard input");
    if (got == 0) break;
    size += static_cast<size_t>(got);
    if (size > limit_bytes) throw_too_large(path, limit_bytes);
  }
  content.resize(size);
  return content;
}

bool is_gzip(std::string_view bytes) {
  return bytes.size() >= 3 && bytes.substr(0, 3) == std::string_view("\x1f\x8b\x08", 3);
}

struct Inflater {
  z_stream stream{};
  Inflater() {
    if (inflateInit2(&stream, 15 + 16) != Z_OK) throw InternalError("zlib cannot start");
  }
  ~Inflater() { inflateEnd(&stream); }
};

// All members of a gzip file, one after another; like gzip, ignores what follows the last member.
std::string unpack(std::string_view packed, const std::string& path, uint64_t limit_bytes) {
  std::string content, chunk(kChunkBytes, '\0');
  while (is_gzip(packed)) {
    Inflater inflater;
    z_stream& stream = inflater.stream;
    int status = Z_OK;
    while (status != Z_STREAM_END) {
      // zlib counts in 32 bits: feed at most 1 GiB at a time.
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
      stream.avail_in = static_cast<uInt>(std::min<size_t>(packed.size(), 1 << 30));
      const size_t offered = stream.avail_in;
      stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
      stream.avail_out = static_cast<uInt>(chunk.size());
      status = inflate(&stream, Z_NO_FLUSH);
      packed.remove_prefix(offered - stream.avail_in);
      const size_t produced = chunk.size() - stream.avail_out;
      if (status != Z_OK && status != Z_STREAM_END)
        throw Error(packed.empty() ? "the gzip data end too early" : "the gzip data are damaged", path,
                    "check the file with gzip -t");
      if (content.size() + produced > limit_bytes) throw_too_large(path, limit_bytes);
      content.append(chunk.data(), produced);
    }
  }
  return content;
}

// A new file without a name in the folder of `target`: nobody sees it, and it is gone if this process ends. -1 where the file system has
// none, or this process could not give it one.
int open_nameless(const std::string& target) {
  if (::access("/proc/self/fd", X_OK) != 0) return -1;
  const std::string folder = fs::path(target).parent_path().string();
  return ::open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
}

bool name_file(int fd, const std::string& path) {
  return ::linkat(AT_FDCWD, fmt::format("/proc/self/fd/{}", fd).c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) ==
         0;
}

}  // namespace

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    content.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

std::string read_file(const std::string& path, uint64_t limit_bytes) {
  const bool standard_input = path == "-";
  const Descriptor file(standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0)
    throw Error("cannot be opened: " + reason(), path, "give an existing file, or - for standard input");
  struct stat info{};
  uint64_t expected_bytes = 0;
  if (::fstat(file.fd(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) throw Error("is a folder, not a file", path, "give a file inside it");
    if (S_ISREG(info.st_mode)) expected_bytes = static_cast<uint64_t>(info.st_size);
  }
  if (expected_bytes > limit_bytes) throw_too_large(path, limit_bytes);
  const std::string name = standard_input ? "standard input" : path;
  std::string content = read_all(file.fd(), name, limit_bytes, expected_bytes);
  return is_gzip(content) ? unpack(content, name, limit_bytes) : content;
}

void write_file(const std::string& path, std::string_view content) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  // Devices and pipes (/dev/stdout) are written to directly; only regular files and links to them are replaced.
  const bool replace = !fs::exists(status) || fs::is_regular_file(status);
  const std::string target = fs::is_symlink(path, ignored) && replace ? fs::weakly_canonical(path).string() : path;
  static std::atomic<int> counter{0};
  const std::string temporary = replace ? fmt::format("{}.{}-{}.part", target, ::getpid(), ++counter) : target;
  const auto fail = [&] {
    const std::string why = reason();
    if (replace) ::unlink(temporary.c_str());
    throw RunError("cannot be written: " + why, path, "check the free space and the permissions");
  };
  const auto write = [&](Descriptor& file) {
    if (!write_all(file.fd(), content) || (replace && ::fsync(file.fd()) != 0)) fail();
  };
  bool named = false;
  if (Descriptor file(replace ? open_nameless(target) : -1); file.fd() >= 0) {
    write(file);
    named = name_file(file.fd(), temporary);
    if (named && !file.close()) fail();
  }
  if (!named) {  // there are no files without a name here, or this one cannot be given any
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CLOEXEC | (replace ? O_CREAT | O_EXCL : 0), 0666));
    if (file.fd() < 0)
      throw RunError("cannot be written: " + reason(), path, "check that the folder exists and is writable");
    write(file);
    if (!file.close()) fail();
  }
  if (replace && ::rename(temporary.c_str(), target.c_str()) != 0) fail();
}

std::vector<std::string> files_in(const std::string& folder, std::string_view extension) {
  std::error_code error;
  std::vector<std::string> found;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == extension) found.push_back(entry->path().string());
  if (error) throw Error("cannot read the folder: " + error.message(), folder);
  std::sort(found.begin(), found.end());
  return found;
}

TempDir::TempDir(const std::string& prefix, const std::string& parent) {
  std::error_code error;
  const fs::path folder = parent.empty() ? fs::temp_directory_path(error) : fs::path(parent);
  std::string name = (folder / (prefix + ".XXXXXX")).string();
  if (error || ::mkdtemp(name.data()) == nullptr)
    throw RunError("cannot make a temporary folder: " + (error ? error.message() : reason()), name,
                   "set TMPDIR to a writable folder");
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path user_data_folder() {
  const char* data = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  if (data && *data) return fs::path(data) / "hone";
  if (!home || !*home) return {};
  return fs::path(home) / ".local" / "share" / "hone";
}

fs::path executable_dir() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) throw RunError("cannot find the running program: " + error.message(), "/proc/self/exe", "mount /proc");
  return program.parent_path();
}

}  // namespace hone
