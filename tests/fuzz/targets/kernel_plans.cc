// Configurations of custom calls of Hone's own kernels, which a program's file may hold.
#include "kernels/attention.h"
#include "kernels/dnnl_plan.h"
#include "kernels/plan_text.h"
#include "kernels/recurrence_plan.h"
#include "kernels/winograd_plan.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void kernel_plans(Bytes input) {
  const std::string text = text_of(input);
  plan_numbers(text);
  expect_errors([&] { AttentionPlan::from_text(text).extents(); });
  expect_errors([&] { DnnlPlan::from_text(text).text(); });
  expect_errors([&] {
    const WinogradPlan plan = WinogradPlan::from_text(text);
    if (plan.input_size() < 1 || plan.weights_size() < 1 || plan.output_size() < 1) std::abort();
  });
  expect_errors([&] {
    const RecurrencePlan plan = RecurrencePlan::from_text(text);
    plan.operand_extents();
    plan.result_extents();
  });
}

}  // namespace hone::fuzz
