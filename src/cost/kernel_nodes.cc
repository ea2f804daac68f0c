#include "cost/kernel_nodes.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.h"
#include "features/columns.h"
#include "features/encoded.h"
#include "features/opcodes.h"

namespace hone::cost {

const KernelNodes::Columns& KernelNodes::columns() {
  const auto at = [](const char* name) { return features::column_index(features::node_columns(), name); };
  static const Columns c = {.dims = at("shape_dims_0"),
                            .layout = at("layout_0"),
                            .strides = at("strides_0"),
                            .dimensions = at("dimensions_0"),
                            .element_bytes = at("element_bytes"),
                            .reduced = at("reduce_dims_0"),
                            .reduces_minor = at("reduces_minor"),
                            .window = at("window_size_product"),
                            .groups = at("feature_group_count"),
                            .is_output = at("is_output"),
                            .slice_strides = at("slice_strides_0"),
                            .contracted = at("dot_contracted"),
                            .is_float = at("is_f32"),
                            .window_stride = at("window_stride_product"),
                            .base_dilation = at("window_base_dilation_product"),
                            .window_dilation = at("window_window_dilation_product"),
                            .lhs_contracting = at("dot_lhs_contracting_0"),
                            .rhs_contracting = at("dot_rhs_contracting_0"),
                            .is_f64 = at("is_f64"),
                            .is_f16 = at("is_f16"),
                            .is_bf16 = at("is_bf16"),
                            .is_s64 = at("is_s64"),
                            .is_u64 = at("is_u64"),
                            .is_pred = at("is_pred"),
                            .is_c64 = at("is_c64"),
                            .is_s32 = at("is_s32"),
                            .is_u32 = at("is_u32"),
                            .window_size = at("window_size_0"),
                            .output_feature = at("convolution_output_feature_dim"),
                            .output_batch = at("convolution_output_batch_dim"),
                            .padding_low = at("window_padding_low_sum"),
                            .slice_sizes = at("gather_slice_sizes_0")};
  return c;
}

KernelNodes::Neighbours::Neighbours(int64_t nodes, std::span<const int32_t> of, std::span<const int32_t> to)
    : first_(nodes + 1), all_(of.size()) {
  for (const int32_t node : of) ++first_[node + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<int32_t> next(first_.begin(), first_.end() - 1);
  for (size_t e = 0; e < of.size(); ++e) all_[next[of[e]]++] = to[e];
}

KernelNodes::KernelNodes(const KernelView& kernel) : kernel_(kernel), width_(features::node_feature_count()) {
  if (kernel.node_features.size() != static_cast<size_t>(width_) * kernel.opcodes.size() ||
      kernel.static_features.size() != static_cast<size_t>(features::static_feature_count()))
    throw Error("a kernel's features have the wrong width", std::string(kernel.fingerprint),
                "collect the data set again");
  ranks_.resize(kernel.nodes());
  const int layout = columns().layout;
  for (int64_t n = 0; n < kernel.nodes(); ++n)
    while (ranks_[n] < kRank && at(n, layout + ranks_[n]) >= 0) ++ranks_[n];
  users_ = Neighbours(kernel.nodes(), kernel.edge_from, kernel.edge_to);
  operands_ = Neighbours(kernel.nodes(), kernel.edge_to, kernel.edge_from);
}

std::string_view KernelNodes::opcode(int64_t node) const { return features::opcode_name(kernel_.opcodes[node]); }

double KernelNodes::elements(int64_t node) const {
  double product = 1;
  for (int d = 0; d < rank(node); ++d) product *= dim(node, d);
  return product;
}

double KernelNodes::bytes(int64_t node) const {
  return elements(node) * std::max(1.0f, at(node, columns().element_bytes));
}

bool KernelNodes::is_result(int64_t node) const { return at(node, columns().is_output) > 0 && opcode(node) != "tuple"; }

}  // namespace hone::cost
