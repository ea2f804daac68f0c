// Custom calls into kernels/ that rewrites put in place of operations.
#pragma once

namespace hone::xla_side {

inline constexpr char kHostKernelPrefix[] = "hone.";                   // of all their names
inline constexpr char kSortTarget[] = "hone.sort";                     // configuration: SortPlan
inline constexpr char kCumulativeSumTarget[] = "hone.cumulative_sum";  // configuration: CumulativePlan
inline constexpr char kWholeSumTarget[] = "hone.whole_sum";            // configuration: WholeSumPlan
inline constexpr char kFewRowsTarget[] = "hone.few_rows";              // configuration: RowsPlan

// Makes them known to XLA, once per process; before a program with such calls is compiled.
void register_host_kernels();

}  // namespace hone::xla_side
