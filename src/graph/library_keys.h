// Keys of library decisions that are no kernel fingerprints.
#pragma once

#include "graph/decision.h"

namespace hone {

// One choice for every dot, convolution and reduction of the program.
inline constexpr char kProgramLibraryKey[] = "program";

// Reductions of one shape, which XLA hands to YNNPACK or compiles (and then fuses with their neighbours) before there are
// kernels: "reduce:add:f32[8,512]->f32[8]:1", value "compiled" | "ynnpack".
inline constexpr char kReduceKeyPrefix[] = "reduce:";

inline bool is_reduction(DecisionKind kind, const std::string& key) {
  return kind == DecisionKind::Library && key.rfind(kReduceKeyPrefix, 0) == 0;
}

// Operations over windows of one shape, as the program has them before XLA's passes: grouped convolutions with few features
// per group ("convolution:f32[1,8,8,4]*...") and poolings ("reduce-window:maximum:f32[..."), value "default" (whatever XLA
// makes of it) | "shifted" (elementwise operations on shifted slices, compiled and fused).
inline constexpr char kConvolutionKeyPrefix[] = "convolution:";
inline constexpr char kPoolingKeyPrefix[] = "reduce-window:";
inline constexpr char kShifted[] = "shifted";

inline bool is_grouped_convolution(DecisionKind kind, const std::string& key) {
  return kind == DecisionKind::Library && key.rfind(kConvolutionKeyPrefix, 0) == 0;
}

// Of a grouped convolution's weights: groups of the batch, a result of few positions.
inline constexpr char kBatchGroups[] = ":batch groups ";

inline bool is_weights_gradient(DecisionKind kind, const std::string& key) {
  return is_grouped_convolution(kind, key) && key.find(kBatchGroups) != std::string::npos;
}

inline bool is_pooling(DecisionKind kind, const std::string& key) {
  return kind == DecisionKind::Library && key.rfind(kPoolingKeyPrefix, 0) == 0;
}

inline bool is_window_operation(DecisionKind kind, const std::string& key) {
  return is_grouped_convolution(kind, key) || is_pooling(kind, key);
}

// Libraries decided on instructions, before there are kernels: the key is no kernel's fingerprint.
inline bool is_before_kernels(DecisionKind kind, const std::string& key) {
  return is_reduction(kind, key) || is_window_operation(kind, key);
}

}  // namespace hone
