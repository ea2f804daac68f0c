#include "kernels/winograd_plan.h"

#include "base/error.h"
#include "kernels/plan_text.h"

namespace hone {
namespace {

constexpr int64_t kMostSize = int64_t{1} << 24;      // of one dimension
constexpr int64_t kMostElements = int64_t{1} << 40;  // of an array: more than any memory holds, far from overflow

// Whether the product of so many sizes of one and more is an array's.
bool is_array(std::initializer_list<int64_t> sizes) {
  int64_t elements = 1;
  for (const int64_t size : sizes) {
    if (size < 1 || size > kMostSize || elements > kMostElements / size) return false;
    elements *= size;
  }
  return true;
}

bool fits(const WinogradPlanAxis& axis) {
  return axis.in >= 1 && axis.in <= kMostSize && axis.out >= 1 && axis.out <= kMostSize && axis.low <= kMostSize;
}

}  // namespace

std::string WinogradPlan::text() const {
  return plan_text({batch, features, results, rows.in, rows.out, rows.low, rows.tile, rows.reach, columns.in,
                    columns.out, columns.low, columns.tile, columns.reach});
}

WinogradPlan WinogradPlan::from_text(std::string_view text) {
  const std::vector<int64_t> n = plan_numbers(text);
  if (n.size() != 13) throw Error("not the configuration of a convolution by Winograd's method", std::string(text));
  const WinogradPlan plan{n[0], n[1], n[2], {n[3], n[4], n[5], n[6], n[7]}, {n[8], n[9], n[10], n[11], n[12]}};
  const int64_t reach = plan.rows.reach, reaches = plan.columns.reach;
  const bool whole = has_winograd_kernel(plan.rows, plan.columns) && fits(plan.rows) && fits(plan.columns) &&
                     is_array({plan.batch, plan.rows.in, plan.columns.in, plan.features}) &&
                     is_array({plan.results, plan.features, reach, reaches, kWinogradPanel}) &&
                     is_array({plan.batch, plan.rows.out, plan.columns.out, plan.results}) &&
                     is_array({plan.batch, plan.rows.tiles(), plan.columns.tiles()});
  if (!whole) throw Error("sizes of a convolution by Winograd's method do not fit together", std::string(text));
  return plan;
}

int64_t WinogradPlan::input_size() const { return batch * rows.in * columns.in * features; }
int64_t WinogradPlan::weights_size() const { return rows.reach * columns.reach * panels() * kWinogradPanel * features; }
int64_t WinogradPlan::output_size() const { return batch * rows.out * columns.out * results; }

bool has_winograd_kernel(const WinogradPlanAxis& rows, const WinogradPlanAxis& columns) {
  const bool one = rows.tile == 1 && rows.reach == 1;
  if (!one && (rows.tile != columns.tile || rows.reach != columns.reach)) return false;
#define HONE_WINOGRAD(of_tile, of_reach) \
  if (columns.tile == of_tile && columns.reach == of_reach) return true;
#include "kernels/winograd_sizes.def"
#undef HONE_WINOGRAD
  return false;
}

}  // namespace hone
