// The instructions of an encoded kernel, by name of what was encoded (features/node_features.def).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/kernel_view.h"

namespace hone::cost {

class KernelNodes {
 public:
  static constexpr int kRank = 6;  // most dimensions that a node's features hold

  // Columns of node features.
  struct Columns {
    int dims, layout, strides, dimensions, element_bytes, reduced, reduces_minor, window, groups, is_output,
        slice_strides, contracted, is_float, window_stride, base_dilation, window_dilation, lhs_contracting,
        rhs_contracting, is_f64, is_f16, is_bf16, is_s64, is_u64, is_pred, is_c64, is_f32, is_s32, is_u32, window_size,
        output_feature, output_batch, padding_low, dot_batch, slice_sizes;
  };
  static const Columns& columns();

  // The view outlives this. Throws Error if its widths differ from those of the feature tables.
  explicit KernelNodes(const KernelView& kernel);

  int64_t size() const { return kernel_.nodes(); }
  float at(int64_t node, int column) const { return kernel_.node_features[node * width_ + column]; }
  std::string_view opcode(int64_t node) const;
  int rank(int64_t node) const { return ranks_[node]; }
  double dim(int64_t node, int d) const { return at(node, columns().dims + d); }
  double elements(int64_t node) const;
  double bytes(int64_t node) const;
  bool is_result(int64_t node) const;                      // a root, or an element of a root tuple
  std::span<const int32_t> operands(int64_t node) const {  // ascending, each once
    return std::span(operands_).subspan(first_operand_[node], first_operand_[node + 1] - first_operand_[node]);
  }
  std::span<const int32_t> users(int64_t node) const {
    return std::span(users_).subspan(first_user_[node], first_user_[node + 1] - first_user_[node]);
  }

 private:
  const KernelView& kernel_;
  int64_t width_;
  std::vector<int8_t> ranks_;
  std::vector<int32_t> first_user_, users_;  // users_[first_user_[n]] to those of n + 1 are n's
  std::vector<int32_t> first_operand_, operands_;
};

}  // namespace hone::cost
