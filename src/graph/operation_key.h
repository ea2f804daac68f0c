// The key of a convolution or dot in rewrite decisions (graph/decision_families.def), read back into the sizes of the operation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hone {

// Value of a convolution or dot: by the wheel's oneDNN.
inline constexpr char kOneDnn[] = "onednn";
// Value of a batch of small dots: a sum of products that XLA compiles into one loop.
inline constexpr char kProducts[] = "products";

// A convolution or a dot as a product of matrices: [batch][m, k] x [batch][k, n].
struct OperationSizes {
  // One spatial dimension of a convolution.
  struct Window {
    int64_t in = 1, out = 1, size = 1, stride = 1, dilation = 1, low = 0, high = 0;
    bool reversed = false;
  };
  bool convolution = false;
  double batch = 1;            // of dots; a convolution's is part of m
  double m = 1, n = 1, k = 1;  // a convolution's: results per feature; results' features; window times features
  double images = 1;           // a convolution's batch
  double features = 1;         // that it reads, of a group
  double groups = 1, batch_groups = 1;
  std::string left_type = "f32", right_type = "f32";
  int left_bytes = 4, right_bytes = 4, result_bytes = 4;  // of an element
  double left_elements = 0, right_elements = 0, result_elements = 0;
  bool features_minor = false;  // of a convolution's input: the last dimension, as vector code wants it
  bool results_minor = false;   // of its kernel
  bool depth_minor = false;     // of a dot's second operand: it is stored transposed
  bool rows_minor = false;      // of a dot's first operand, which is contracted over another dimension than its last
  std::vector<Window> windows;

  double flops() const { return 2 * batch * m * n * k; }
  double positions() const;  // of the window
  // A convolution whose window is at least twice as large as its result, as that of a gradient of weights, without groups, strides
  // and dilation. Winograd's method exchanges the roles of the two there.
  bool has_gradient_window() const;
};

// Which operations have forms in common, by the letters of models and reports: "convolution", "strided-convolution",
// "depthwise-gradient", "f16-dot", ...
const char* operation_family(const OperationSizes& sizes);

// nullopt for keys of other operations, and for what no such key looks like.
std::optional<OperationSizes> operation_sizes(const std::string& key);

}  // namespace hone
