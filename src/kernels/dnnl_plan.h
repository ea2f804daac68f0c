// A convolution or a product of matrices, and what is done to each element of its result, as oneDNN computes them at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

// What a step after the operation reads beside its result: nothing, an element for each channel, or an array like the result.
enum class PostOperand { None, Channel, Full };

// A step: a binary operation with an operand ("add", "sub", "mul", "div", "max", "min"), or a function of one value ("relu": alpha x
// below 0, "linear": alpha x + beta, "clip": to [alpha, beta], "logistic", "tanh", "swish": x logistic(alpha x), "exp", "abs", "sqrt",
// "gelu_erf", "gelu_tanh", "hardswish": x times alpha x + beta within [0, 1], "elu": alpha (exp(x) - 1) below 0, "soft_relu", "mish").
struct PostOp {
  std::string name;
  PostOperand operand = PostOperand::None;
  double alpha = 0, beta = 0;
};

// Sizes and strides, in elements.
struct DnnlArray {
  std::vector<int64_t> sizes, strides;
};

// Of f32, except weights of `weights_type`. As text it is the configuration of a custom call.
struct DnnlPlan {
  // Convolutions: [batch, channels, spatial...], [(groups,) out, in, spatial...], [batch, channels, spatial...].
  // Products: [rows, depth], [depth, columns], [rows, columns]; channels are the columns.
  DnnlArray input, weights, output;
  std::vector<int64_t> strides, dilation, pad_low,
      pad_high;  // of the window, one for each spatial dimension; of products none
  int64_t groups = 1;
  std::vector<PostOp> post_ops;
  std::string weights_type = "f32";  // or "f16", which becomes f32 when it is brought into order
  bool steady = false;  // the weights change only where weights_changed() is called: they are brought into order once
  // The first step is a factor for each channel, as steady as the weights, which are multiplied by it once.
  bool scaled = false;
  int threads = 1;

  bool is_convolution() const { return !strides.empty(); }

  std::string text() const;
  // Throws Error for what text() does not write, or sizes that do not fit together.
  static DnnlPlan from_text(std::string_view text);
};

}  // namespace hone
