#include "kernels/highway_sort.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace hone {
namespace {

// hwy::Sorter of hwy/contrib/sort/vqsort.h: an object of one pointer; its functions by their C++ names.
struct Library {
  void (*construct)(void** sorter) = nullptr;
  void (*destroy)(void** sorter) = nullptr;
  void (*ascending)(void* const* sorter, uint64_t* keys, size_t count) = nullptr;
};

// Holds the buffer that Highway allocates for each thread.
class Sorter {
 public:
  explicit Sorter(const Library& library) : library_(library) { library_.construct(&state_); }
  ~Sorter() { library_.destroy(&state_); }
  Sorter(const Sorter&) = delete;
  Sorter& operator=(const Sorter&) = delete;

  void sort(uint64_t* keys, size_t count) { library_.ascending(&state_, keys, count); }

 private:
  const Library& library_;
  void* state_ = nullptr;
};

bool sorts(const Library& library) {
  std::array<uint64_t, 1000> keys;
  uint64_t state = 1;
  for (uint64_t& key : keys) key = state = state * 6364136223846793005u + 1442695040888963407u;
  keys[7] = 0;
  keys[500] = ~uint64_t{0};
  std::array<uint64_t, 1000> expected = keys;
  std::sort(expected.begin(), expected.end());
  Sorter(library).sort(keys.data(), keys.size());
  return keys == expected;
}

// All null without the library, or where it does not sort. Never closed: threads hold its buffers.
Library open_library() {
  void* handle = ::dlopen("libhwy_contrib.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return {};
  Library found;
  found.construct = reinterpret_cast<decltype(found.construct)>(::dlsym(handle, "_ZN3hwy6SorterC1Ev"));
  found.destroy = reinterpret_cast<decltype(found.destroy)>(::dlsym(handle, "_ZN3hwy6Sorter6DeleteEv"));
  found.ascending =
      reinterpret_cast<decltype(found.ascending)>(::dlsym(handle, "_ZNK3hwy6SorterclEPmmNS_13SortAscendingE"));
  if (found.construct == nullptr || found.destroy == nullptr || found.ascending == nullptr || !sorts(found)) return {};
  return found;
}

const Library& library() {
  static const Library opened = open_library();
  return opened;
}

}  // namespace

bool has_highway_sort() { return library().ascending != nullptr; }

void highway_sort(uint64_t* keys, size_t count) {
  if (!has_highway_sort())
    throw Error("no library to sort with", "libhwy_contrib.so.1", "install Debian's package libhwy1");
  thread_local Sorter sorter(library());
  sorter.sort(keys, count);
}

}  // namespace hone
