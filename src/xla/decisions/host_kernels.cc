#include "decisions/host_kernels.h"

#include <exception>
#include <string_view>

#include "kernels/cumulative_sum.h"
#include "kernels/few_rows.h"
#include "kernels/sort.h"
#include "kernels/whole_sum.h"
#include "xla/service/custom_call_status_internal.h"
#include "xla/service/custom_call_target_registry.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

// Custom calls of API_VERSION_STATUS_RETURNING_UNIFIED: `out` is the buffer of the result or, of several, an array of theirs.
template <class Kernel>
void guarded(XlaCustomCallStatus* status, Kernel kernel) {
  try {
    kernel();
  } catch (const std::exception& error) {
    status->message = error.what();
  }
}

void sort(void* out, const void** in, const char* config, size_t size, XlaCustomCallStatus* status) {
  guarded(status, [&] {
    const SortPlan plan = SortPlan::from_text({config, size});
    sort_rows(plan, in, plan.bytes.size() == 1 ? &out : static_cast<void* const*>(out));
  });
}

void sum(void* out, const void** in, const char* config, size_t size, XlaCustomCallStatus* status) {
  guarded(status, [&] { cumulative_sum(CumulativePlan::from_text({config, size}), in[0], out); });
}

void sum_all_elements(void* out, const void** in, const char* config, size_t size, XlaCustomCallStatus* status) {
  guarded(status, [&] { whole_sum(WholeSumPlan::from_text({config, size}), in[0], out); });
}

void rows(void* out, const void** in, const char* config, size_t size, XlaCustomCallStatus* status) {
  guarded(status, [&] {
    multiply_rows(RowsPlan::from_text({config, size}), static_cast<const float*>(in[0]), in[1],
                  static_cast<float*>(out));
  });
}

}  // namespace

void register_host_kernels() {
  [[maybe_unused]] static const bool once = [] {
    auto& registry = *xla::CustomCallTargetRegistry::Global();
    registry.Register(kSortTarget, reinterpret_cast<void*>(&sort), "Host");
    registry.Register(kCumulativeSumTarget, reinterpret_cast<void*>(&sum), "Host");
    registry.Register(kWholeSumTarget, reinterpret_cast<void*>(&sum_all_elements), "Host");
    registry.Register(kFewRowsTarget, reinterpret_cast<void*>(&rows), "Host");
    return true;
  }();
}

}  // namespace hone::xla_side
