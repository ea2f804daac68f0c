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
        rhs_contracting, is_f64, is_f16, is_bf16, is_s64, is_u64, is_pred, is_c64, is_s32, is_u32, window_size,
        output_feature, output_batch, padding_low, slice_sizes;
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
  bool is_result(int64_t node) const;  // a root, or an element of a root tuple
  std::span<const int32_t> operands(int64_t node) const { return operands_.of(node); }  // ascending, each once
  std::span<const int32_t> users(int64_t node) const { return users_.of(node); }

 private:
  // Where each edge of a node leads, node by node, in the order of the edges.
  class Neighbours {
   public:
    Neighbours() = default;
    Neighbours(int64_t nodes, std::span<const int32_t> of, std::span<const int32_t> to);
    std::span<const int32_t> of(int64_t node) const {
      return std::span(all_).subspan(first_[node], first_[node + 1] - first_[node]);
    }

   private:
    std::vector<int32_t> first_, all_;  // all_[first_[n]] to those of n + 1 are n's
  };

  const KernelView& kernel_;
  int64_t width_;
  std::vector<int8_t> ranks_;
  Neighbours users_, operands_;
};

}  // namespace hone::cost
