#include "base/object_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/sha256.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "hone-object-1\n";
constexpr size_t kKeyDigits = 64, kDigestDigits = 64;
constexpr size_t kHeaderBytes = kMagic.size() + kKeyDigits + kDigestDigits;
constexpr int kSumsPerLimit = 16;                   // a folder is summed up when so much of its limit has been written
constexpr double kKept = 0.8;                       // of the limit, after making room
constexpr auto kOrphanAge = std::chrono::hours(1);  // of a writer's temporary file that nobody will rename any more

std::string digest_of(const std::string& key, std::string_view value) { return Sha256().add(key).add(value).hex(); }

bool is_key(std::string_view name) {
  return name.size() == kKeyDigits && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

std::optional<std::string> read_whole(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  std::string content(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = ::read(fd, content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<size_t>(got);
  }
  return content;
}

struct StoredFile {
  fs::file_time_type used;
  uint64_t bytes;
  fs::path path;
};

// The files of a store; temporary files, and folders of a moment, that were left behind are removed on the way.
std::vector<StoredFile> files_below(const fs::path& folder) {
  std::vector<StoredFile> files;
  std::error_code failed;
  const auto is_old = [](fs::file_time_type used) { return fs::file_time_type::clock::now() - used > kOrphanAge; };
  for (fs::recursive_directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    std::error_code gone;
    const auto used = it->last_write_time(gone);
    const std::string name = it->path().filename().string();
    if (!gone && it->is_directory(gone) && it.depth() == 0 && name.starts_with(kScratchPrefix)) {
      it.disable_recursion_pending();
      if (is_old(used)) fs::remove_all(it->path(), gone);
      continue;
    }
    if (gone || !it->is_regular_file(gone) || gone) continue;
    const uint64_t bytes = it->file_size(gone);
    if (gone) continue;
    if (is_key(name))
      files.push_back({used, bytes, it->path()});
    else if (it->path().extension() == ".part" && is_old(used))
      fs::remove(it->path(), gone);
  }
  return files;
}

}  // namespace

ObjectStore::ObjectStore(ObjectStoreOptions options) : options_(std::move(options)) {
  if (options_.folder.empty()) throw InternalError("an object store without a folder");
  std::error_code failed;
  const fs::path parent = fs::path(options_.folder).parent_path();
  if (!parent.empty()) fs::create_directories(parent, failed);
  if (::mkdir(options_.folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw Error(std::string("cannot make the cache's folder: ") + std::strerror(errno), options_.folder,
                "name another with --cache, or do without: --no-cache");
  struct stat info{};
  if (::stat(options_.folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    throw Error("the cache is not a folder", options_.folder, "name a folder with --cache");
  if (info.st_uid != ::geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw Error("others may write to the cache, whose code is run", options_.folder,
                "chmod go-w it, or name a folder of your own with --cache");
}

fs::path ObjectStore::path_of(const std::string& key) const {
  return fs::path(options_.folder) / key.substr(0, 2) / key;
}

std::optional<std::string> ObjectStore::get(const std::string& key) {
  if (!is_key(key)) return std::nullopt;
  const fs::path path = path_of(key);
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.fd() < 0) return std::nullopt;
  std::optional<std::string> content = read_whole(file.fd());
  const bool whole = content && content->size() >= kHeaderBytes && content->starts_with(kMagic) &&
                     std::string_view(*content).substr(kMagic.size(), kKeyDigits) == key &&
                     std::string_view(*content).substr(kMagic.size() + kKeyDigits, kDigestDigits) ==
                         digest_of(key, std::string_view(*content).substr(kHeaderBytes));
  if (!whole) {
    ::unlink(path.c_str());
    return std::nullopt;
  }
  const timespec now[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  ::futimens(file.fd(), now);
  content->erase(0, kHeaderBytes);
  return content;
}

bool ObjectStore::put(const std::string& key, std::string_view value) {
  if (!is_key(key) || value.size() + kHeaderBytes > options_.limit_bytes / 10) return false;
  const fs::path path = path_of(key);
  std::error_code failed;
  fs::create_directory(path.parent_path(), failed);
  static std::atomic<uint64_t> counter{0};
  const std::string temporary =
      path.string() + "." + std::to_string(::getpid()) + "-" + std::to_string(++counter) + ".part";
  {
    const FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.fd() < 0) return false;
    // Not synced: what a power cut leaves of it does not have its digest.
    if (!write_all(file.fd(), std::string(kMagic) + key + digest_of(key, value)) || !write_all(file.fd(), value)) {
      ::unlink(temporary.c_str());
      return false;
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    ::unlink(temporary.c_str());
    return false;
  }
  const std::lock_guard lock(mutex_);
  unseen_bytes_ += kHeaderBytes + value.size();
  if (!summed_ || unseen_bytes_ > options_.limit_bytes / kSumsPerLimit) make_room();
  return true;
}

// Other processes write at the same time, so what counts is what lies in the folder.
void ObjectStore::make_room() {
  std::vector<StoredFile> files = files_below(options_.folder);
  summed_ = true;
  unseen_bytes_ = 0;
  uint64_t total = 0;
  for (const StoredFile& file : files) total += file.bytes;
  if (total <= options_.limit_bytes) return;
  std::sort(files.begin(), files.end(), [](const StoredFile& a, const StoredFile& b) { return a.used < b.used; });
  const auto kept = static_cast<uint64_t>(kKept * static_cast<double>(options_.limit_bytes));
  for (const StoredFile& file : files) {
    if (total <= kept) break;
    std::error_code gone;
    fs::remove(file.path, gone);
    total -= file.bytes;
  }
}

std::string user_object_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache && *cache) return (fs::path(cache) / "hone" / "objects").string();
  return home && *home ? (fs::path(home) / ".cache" / "hone" / "objects").string() : "";
}

}  // namespace hone
