// A batch of kernels and options as tensors, without padding: the nodes of all kernels are in one array, and adjacency
// is stored once per kernel, however many of its options are in the batch.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "cost/feature_scale.h"
#include "data/dataset.h"

namespace hone::learn {

// Neighbours of every node in compressed rows, and the transpose, for gradients.
struct Adjacency {
  std::vector<int32_t> begin, neighbour;       // [nodes + 1], [edges]
  std::vector<int32_t> back_begin, back_node;  // [nodes + 1], [edges]: the nodes that have it as a neighbour
};

// Which rows belong to which copy of which kernel. A network that reads option features at its nodes has one copy of a
// kernel per option, any other network one copy. Copies of one kernel are adjacent: rows are [kernel][copy][node].
struct Rows {
  std::vector<int64_t> node_begin;  // [kernels + 1], first node of a kernel
  std::vector<int64_t> copy_begin;  // [kernels + 1], first copy
  std::vector<int64_t> row_begin;   // [kernels + 1], first row
  int64_t kernels() const { return static_cast<int64_t>(node_begin.size()) - 1; }
  int64_t nodes() const { return node_begin.back(); }
  int64_t copies() const { return copy_begin.back(); }
  int64_t rows() const { return row_begin.back(); }
  int64_t nodes_of(int64_t kernel) const { return node_begin[kernel + 1] - node_begin[kernel]; }
  int64_t copies_of(int64_t kernel) const { return copy_begin[kernel + 1] - copy_begin[kernel]; }
};

struct GraphBatch {
  torch::Tensor opcodes;          // [nodes], int64
  torch::Tensor node_features;    // [nodes, widths.node], scaled
  torch::Tensor static_features;  // [kernels, widths.static_], scaled
  torch::Tensor tiles;            // [options, widths.option()], scaled
  torch::Tensor log_runtime;      // [options], log of ns; undefined if run times are unknown
  torch::Tensor option_kernel;    // [options], int64
  Adjacency producers, users, both;
  Rows per_option, per_kernel;

  int64_t kernels() const { return per_kernel.kernels(); }
  int64_t options() const { return per_option.copies(); }
  const Rows& rows(bool one_per_option) const { return one_per_option ? per_option : per_kernel; }
};

// A kernel and those of its options that are in the batch; features are unscaled.
struct BatchItem {
  KernelView kernel;             // run times may be empty
  std::vector<int32_t> options;  // indices into its tiles; run times, if any, at the same indices
};

// Builds a batch. Nodes of a kernel whose edges do not follow its node order are reordered topologically. At most
// `neighbour_cap` producers and users of a node are kept, the first ones. Throws Error for widths that do not fit,
// edges to nodes outside their kernel, cycles, and kernels without nodes.
std::shared_ptr<GraphBatch> make_batch(const std::vector<BatchItem>& items, const cost::FeatureScale& scale,
                                       int64_t neighbour_cap);
// The same without scaling the features.
std::shared_ptr<GraphBatch> make_unscaled_batch(const std::vector<BatchItem>& items,
                                                const options::FeatureWidths& widths, int64_t neighbour_cap);

}  // namespace hone::learn
