// An HLO module as plain data, for features, models and searches. Independent of XLA and of protobuf; filled
// from a serialised HloModuleProto by read_hlo_graph (hlo_reader.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

struct Shape {
  int32_t element_type = 0;  // xla.PrimitiveType number; 13 is a tuple
  std::vector<int64_t> dims;
  std::vector<int64_t> minor_to_major;  // the layout; empty when none is given
  std::vector<Shape> tuple_shapes;

  int64_t elements() const;  // 1 for a scalar, 0 for a tuple
  int64_t bytes() const;     // of the array, or of all leaves of a tuple
};

struct WindowDimension {
  int64_t size = 1, stride = 1, padding_low = 0, padding_high = 0, window_dilation = 1, base_dilation = 1;
  bool reversal = false;
};

struct PaddingDimension {
  int64_t low = 0, high = 0, interior = 0;
};

struct SliceDimension {
  int64_t start = 0, limit = 0, stride = 1;
};

struct ConvolutionNumbers {
  int64_t input_batch = 0, input_feature = 0, kernel_input_feature = 0, kernel_output_feature = 0, output_batch = 0,
          output_feature = 0;
  std::vector<int64_t> input_spatial, kernel_spatial, output_spatial;
};

struct DotNumbers {
  std::vector<int64_t> lhs_contracting, rhs_contracting, lhs_batch, rhs_batch;
};

struct GatherNumbers {  // gather, and scatter by the names XLA gives the mirrored fields
  std::vector<int64_t> offset_dims, collapsed_slice_dims, start_index_map, slice_sizes;
  int64_t index_vector_dim = 0;
};

// One instruction. Fields that its opcode does not have keep their defaults.
struct Node {
  std::string name, opcode;  // XLA's own text: "broadcast", "dynamic-slice", "fusion"
  Shape shape;
  std::vector<int32_t> operands;  // indices into HloGraph::nodes, in order, duplicates kept
  std::vector<int32_t> control_predecessors;
  std::vector<int32_t> called;  // indices into HloGraph::computations
  int32_t computation = 0;
  bool is_root = false;  // of its computation
  int64_t parameter_number = -1;
  int64_t tuple_index = -1;
  std::vector<int64_t> dimensions;  // broadcast, reduce, transpose, concatenate, iota, ...
  std::vector<WindowDimension> window;
  std::vector<PaddingDimension> padding;
  std::vector<SliceDimension> slice;
  std::vector<int64_t> dynamic_slice_sizes;
  ConvolutionNumbers convolution;
  bool has_convolution = false;
  DotNumbers dot;
  GatherNumbers gather;
  int64_t feature_group_count = 1, batch_group_count = 1;
  std::string comparison, fusion_kind, custom_call_target;  // "LT", "kLoop", ...
  bool indices_are_sorted = false, unique_indices = false, is_stable = false, is_reordering = false;
};

struct Computation {
  std::string name;
  int32_t first = 0, last = 0;  // its nodes are [first, last) of HloGraph::nodes, operands before users
  int32_t root = 0;
};

struct HloGraph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Computation> computations;
  int32_t entry = 0;  // index into computations
};

}  // namespace hone
