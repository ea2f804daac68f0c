#include "decisions/typed_calls.h"

#include <atomic>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/error.h"
#include "decisions/arithmetic.h"
#include "xla/ffi/ffi_api.h"
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

void run_in_pool(xla::ffi::ThreadPool& pool, size_t count, const std::function<void(size_t)>& work) {
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

std::unique_ptr<xla::HloInstruction> typed_call(const char* target, const xla::Shape& result,
                                                const std::vector<xla::HloInstruction*>& operands,
                                                std::string_view plan) {
  std::vector<xla::Shape> shapes;
  for (const xla::HloInstruction* operand : operands) shapes.push_back(in_order(operand->shape()));
  return xla::HloInstruction::CreateCustomCall(result, operands, target, shapes, plan_attribute(plan),
                                               xla::CustomCallApiVersion::API_VERSION_TYPED_FFI);
}

ForEach in_pool(xla::ffi::ThreadPool& pool) {
  return [&pool](size_t count, const std::function<void(size_t)>& work) { run_in_pool(pool, count, work); };
}

void internal::register_call(const char* target, xla::ffi::TypeId* id, const xla::ffi::TypeInfo* type,
                             XLA_FFI_Handler* instantiate, XLA_FFI_Handler* execute) {
  const XLA_FFI_Api* api = xla::ffi::GetXlaFfiApi();
  xla::ffi::Ffi::RegisterTypeId(api, absl::StrCat(target, ".state"), id, type);
  xla::ffi::Ffi::RegisterStaticHandler(api, target, "Host", {instantiate, nullptr, nullptr, execute});
}

}  // namespace hone::xla_side
