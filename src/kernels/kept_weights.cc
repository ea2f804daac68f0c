#include "kernels/kept_weights.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <set>

namespace hone {
namespace {

std::atomic<uint64_t> epoch{1};

struct Registry {
  std::mutex mutex;
  std::set<const KeptWeights*> all;
};

Registry& registry() {
  static auto* kept = new Registry;  // outlives objects that are freed at the end of the process
  return *kept;
}

}  // namespace

uint64_t weights_epoch() { return epoch.load(std::memory_order_acquire); }

void weights_changed() { epoch.fetch_add(1, std::memory_order_acq_rel); }

KeptWeights::KeptWeights(size_t bytes) : bytes_(bytes) {
  constexpr size_t kLine = 64;
  data_ = std::aligned_alloc(kLine, std::max((bytes + kLine - 1) / kLine * kLine, kLine));
  if (data_ == nullptr) throw std::bad_alloc();
  std::lock_guard lock(registry().mutex);
  registry().all.insert(this);
}

KeptWeights::~KeptWeights() {
  {
    std::lock_guard lock(registry().mutex);
    registry().all.erase(this);
  }
  std::free(data_);
}

void for_each_kept(const std::function<void(const void*, size_t)>& visit) {
  std::lock_guard lock(registry().mutex);
  for (const KeptWeights* kept : registry().all) visit(kept->data(), kept->bytes());
}

}  // namespace hone
