#include "decisions/typed_calls.h"

#include <atomic>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/error.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

struct SharedWork {
  size_t count = 0;
  std::function<void(size_t)> work;
  std::atomic<size_t> taken = 0, done = 0;

  void take_part() {
    for (size_t i = taken.fetch_add(1); i < count; i = taken.fetch_add(1)) {
      work(i);
      if (done.fetch_add(1) + 1 == count) done.notify_all();
    }
  }
  void wait() {
    for (size_t now = done.load(); now < count; now = done.load()) done.wait(now);
  }
};

constexpr std::string_view kBeforePlan = "{plan = \"", kAfterPlan = "\"}";

}  // namespace

std::string plan_attribute(std::string_view plan) {
  return absl::StrCat(kBeforePlan, absl::StrReplaceAll(plan, {{"\"", "\\\""}}), kAfterPlan);
}

std::string plan_of_attribute(std::string_view configuration) {
  if (!configuration.starts_with(kBeforePlan) || !configuration.ends_with(kAfterPlan) ||
      configuration.size() < kBeforePlan.size() + kAfterPlan.size())
    throw Error("no plan in the configuration of a custom call", std::string(configuration));
  configuration.remove_prefix(kBeforePlan.size());
  configuration.remove_suffix(kAfterPlan.size());
  return absl::StrReplaceAll(configuration, {{"\\\"", "\""}});
}

void in_pool(xla::ffi::ThreadPool& pool, size_t count, const std::function<void(size_t)>& work) {
  if (count == 0) return;
  std::exception_ptr failed;
  std::mutex mutex;
  auto shared = std::make_shared<SharedWork>();
  shared->count = count;
  shared->work = [&](size_t i) {
    try {
      work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      failed = std::current_exception();
    }
  };
  const size_t others = std::min<size_t>(count, std::max<int64_t>(pool.num_threads(), 1)) - 1;
  for (size_t i = 0; i < others; ++i) pool.Schedule([shared] { shared->take_part(); });
  shared->take_part();
  shared->wait();
  if (failed) std::rethrow_exception(failed);
}

}  // namespace hone::xla_side
