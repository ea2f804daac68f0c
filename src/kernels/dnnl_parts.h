// An operation cut into parts for several threads.
#pragma once

#include <vector>

#include "kernels/dnnl_plan.h"

namespace hone {

struct DnnlPart {
  DnnlPlan plan;                                                                        // of this part alone
  int64_t input_offset = 0, weights_offset = 0, output_offset = 0, channel_offset = 0;  // in elements
};

// As many parts as the plan has threads, or fewer where the operation has no such cut: convolutions by images, or by rows
// (with the rows around them that their windows read), products by rows, or by columns where there are few rows.
std::vector<DnnlPart> parts_of(const DnnlPlan& plan);

}  // namespace hone
