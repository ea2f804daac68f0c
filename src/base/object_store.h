// A bounded folder of immutable pieces of data by key, shared by processes that know nothing of each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace hone {

// Folders in a store's whose names begin so are for a moment: one that is an hour old belongs to nobody, and is removed.
inline constexpr std::string_view kScratchPrefix = "scratch";

struct ObjectStoreOptions {
  std::string folder;                        // made, readable by its owner alone, where there is none
  uint64_t limit_bytes = uint64_t{1} << 30;  // of all files together; the least recently used ones go first
};

// The folder of compiled code, hone/objects in the user's cache folder; empty without a home folder.
std::string user_object_folder();

// A value never changes: whoever writes a key writes what anybody else would. Files come by rename, so a reader sees a
// whole one or none, and carry their key and a digest of both, so one that was cut short, changed or renamed is a miss and
// is removed. What fails (a full disk, a folder that is gone) makes misses, never errors. Thread-safe.
class ObjectStore {
 public:
  // Throws Error where the folder cannot be made, is another user's or may be written to by others, since its code is run.
  explicit ObjectStore(ObjectStoreOptions options);

  // `key`: 64 hexadecimal digits. Reading counts as use.
  std::optional<std::string> get(const std::string& key);
  // False when it was not written. A value larger than a tenth of the limit is not.
  bool put(const std::string& key, std::string_view value);

  const std::string& folder() const { return options_.folder; }

 private:
  std::filesystem::path path_of(const std::string& key) const;
  void make_room();

  ObjectStoreOptions options_;
  std::mutex mutex_;
  uint64_t unseen_bytes_ = 0;  // written since the folder was last summed up
  bool summed_ = false;
};

}  // namespace hone
