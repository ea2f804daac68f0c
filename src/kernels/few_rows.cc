#include "kernels/few_rows.h"

#include "base/error.h"
#include "base/isa.h"
#include "kernels/few_rows_sets.h"
#include "kernels/plan_text.h"

namespace hone {
namespace {

using Multiply = decltype(&multiply_rows_sse2);

Multiply of_this_cpu() {
  if (!__builtin_cpu_supports("f16c") || !__builtin_cpu_supports("fma")) return multiply_rows_sse2;
  const std::string cpu = cpu_isa();
  if (has_isa(cpu, "avx512")) return multiply_rows_avx512;
  return has_isa(cpu, "avx2") ? multiply_rows_avx2 : multiply_rows_sse2;
}

const Multiply multiply = of_this_cpu();

}  // namespace

bool reads_element(RowsElement element) { return element != RowsElement::F16 || multiply != multiply_rows_sse2; }

std::string RowsPlan::text() const { return plan_text({rows, depth, columns, int64_t{by_column}, int64_t(element)}); }

RowsPlan RowsPlan::from_text(std::string_view text) {
  const std::vector<int64_t> numbers = plan_numbers(text);
  const bool fits = numbers.size() == 5 && numbers[0] >= 1 && numbers[0] <= kMostRows && numbers[4] >= 0 &&
                    numbers[4] <= int64_t(RowsElement::S8);
  if (!fits) throw Error("not the configuration of a product of a few rows", std::string(text));
  const auto element = static_cast<RowsElement>(numbers[4]);
  if (!reads_element(element))
    throw Error("this CPU cannot read f16 (it has no F16C)", std::string(text), "tune the program on this machine");
  return {numbers[0], numbers[1], numbers[2], numbers[3] != 0, element};
}

void multiply_rows(const RowsPlan& plan, const float* rows, const void* matrix, float* result) {
  multiply(plan, rows, matrix, result);
}

}  // namespace hone
