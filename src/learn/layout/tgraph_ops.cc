#include "learn/layout/tgraph_ops.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/lanes.h"

// Not contracted to fused multiply-adds, so that results do not depend on a row's address (segment.cc).
#define TGRAPH_WIDE __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3", "fp-contract=off")))

namespace hone::learn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

TGRAPH_WIDE void add_scaled(const float* x, float scale, float* y, int64_t n) {
  for (int64_t k = 0; k < n; ++k) y[k] += scale * x[k];
}
TGRAPH_WIDE void add_products(const float* x, const float* y, float* sum, float* products, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    sum[k] += x[k];
    products[k] += x[k] * y[k];
  }
}
TGRAPH_WIDE void shift_scale(const float* x, const float* mean, const float* scale, float* y, int64_t n) {
  for (int64_t k = 0; k < n; ++k) y[k] = (x[k] - mean[k]) * scale[k];
}
TGRAPH_WIDE void add_squares(const float* x, float scale, float* sum, int64_t n) {
  for (int64_t k = 0; k < n; ++k) sum[k] += scale * x[k] * x[k];
}
TGRAPH_WIDE void norm_gradient(const float* g, const float* y, const float* sum_g, const float* sum_gy, float share,
                               const float* scale, float* out, int64_t n) {
  for (int64_t k = 0; k < n; ++k) out[k] = scale[k] * (g[k] - share * (sum_g[k] + y[k] * sum_gy[k]));
}

TGRAPH_WIDE void multiply(const float* x, const float* y, float* out, int64_t n) {
  for (int64_t k = 0; k < n; ++k) out[k] = x[k] * y[k];
}
TGRAPH_WIDE void add_triple(const float* g, const float* x, const float* s, float* sum, int64_t n) {
  for (int64_t k = 0; k < n; ++k) sum[k] += g[k] * x[k] * s[k];
}
// g: gradients of x and, n further on, of x o s; dot: the latter times x o s, summed over configurations.
TGRAPH_WIDE void attention_gradient(const float* g, const float* x, const float* s, const float* dot, float inverse,
                                    float* out, float* slope, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    const float u = s[k] * (g[n + k] * x[k] - dot[k]);  // of the argument of the softmax
    out[k] = g[k] + g[n + k] * s[k] + u * inverse;
    slope[k] += u * x[k];
  }
}

TGRAPH_WIDE void gate_gradient(const float* g, const float* x, const float* share, float* of_x, float* of_logits,
                               int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    of_x[k] = g[k] * share[k];
    of_logits[k] = of_x[k] * x[k] * (1 - share[k]);
  }
}

template <class F>
void for_each_config(int64_t configs, F&& f) {
  at::parallel_for(0, configs, 1, [&](int64_t first, int64_t last) {
    for (int64_t c = first; c < last; ++c) f(c);
  });
}

struct GatherRows : torch::autograd::Function<GatherRows> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& rows, const torch::Tensor& index) {
    const torch::Tensor from = rows.contiguous();
    const int64_t width = rows.size(1), nodes = index.size(1);
    torch::Tensor y = torch::empty({index.size(0), nodes, width});
    const float* source = from.data_ptr<float>();
    for_each_config(index.size(0), [&](int64_t c) {
      const int64_t* row = index.data_ptr<int64_t>() + c * nodes;
      float* out = y.data_ptr<float>() + c * nodes * width;
      for (int64_t i = 0; i < nodes; ++i) std::memcpy(out + i * width, source + row[i] * width, width * sizeof(float));
    });
    context->save_for_backward({index});
    context->saved_data["rows"] = rows.size(0);
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const torch::Tensor index = context->get_saved_variables()[0], g = gradients[0].contiguous();
    const int64_t width = g.size(2), count = index.numel();
    torch::Tensor out = torch::zeros({context->saved_data["rows"].toInt(), width});
    const int64_t* row = index.data_ptr<int64_t>();
    const float* from = g.data_ptr<float>();
    float* to = out.data_ptr<float>();
    for (int64_t i = 0; i < count; ++i)  // rows repeat: one thread
      add_scaled(from + i * width, 1, to + row[i] * width, width);
    return {out, torch::Tensor()};
  }
};

struct InstanceNorm : torch::autograd::Function<InstanceNorm> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given, const torch::Tensor& shares) {
    const torch::Tensor x = given.contiguous();
    const int64_t configs = x.size(0), nodes = x.size(1), width = x.size(2);
    torch::Tensor y = torch::empty_like(x), scale = torch::empty({configs, width});
    const float *share = shares.data_ptr<float>(), *xs = x.data_ptr<float>();
    float *ys = y.data_ptr<float>(), *all_scales = scale.data_ptr<float>();
    for_each_config(configs, [&](int64_t c) {
      const float* in = xs + c * nodes * width;
      float *out = ys + c * nodes * width, *scales = all_scales + c * width;
      std::vector<float> mean(width), variance(width);
      const std::vector<float> ones(width, 1), zeros(width, 0);
      for (int64_t i = 0; i < nodes; ++i) add_scaled(in + i * width, share[i], mean.data(), width);
      for (int64_t i = 0; i < nodes; ++i) {  // centred first: sums of squares would cancel
        shift_scale(in + i * width, mean.data(), ones.data(), out + i * width, width);
        add_squares(out + i * width, share[i], variance.data(), width);
      }
      for (int64_t k = 0; k < width; ++k) scales[k] = 1 / std::sqrt(variance[k] + 1e-5f);
      for (int64_t i = 0; i < nodes; ++i) shift_scale(out + i * width, zeros.data(), scales, out + i * width, width);
    });
    context->save_for_backward({y, scale, shares});
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &y = saved[0], &scale = saved[1], g = gradients[0].contiguous();
    const int64_t configs = y.size(0), nodes = y.size(1), width = y.size(2);
    torch::Tensor out = torch::empty_like(y);
    const float *all_g = g.data_ptr<float>(), *all_y = y.data_ptr<float>(), *share = saved[2].data_ptr<float>();
    const float* all_scales = scale.data_ptr<float>();
    float* to = out.data_ptr<float>();
    for_each_config(configs, [&](int64_t c) {
      const int64_t at = c * nodes * width;
      std::vector<float> sum_g(width), sum_gy(width);
      for (int64_t r = at; r < at + nodes * width; r += width)
        add_products(all_g + r, all_y + r, sum_g.data(), sum_gy.data(), width);
      for (int64_t i = 0; i < nodes; ++i)
        norm_gradient(all_g + at + i * width, all_y + at + i * width, sum_g.data(), sum_gy.data(), share[i],
                      all_scales + c * width, to + at + i * width, width);
    });
    return {out, torch::Tensor()};
  }
};

struct AddNeighbours : torch::autograd::Function<AddNeighbours> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given, int64_t adjacency_address) {
    const torch::Tensor z = given.contiguous();
    const WeightedEdges& edges = reinterpret_cast<const LayoutAdjacency*>(adjacency_address)->in;
    const int64_t configs = z.size(0), nodes = z.size(1), width = z.size(2) / 2;
    torch::Tensor y = torch::empty({configs, nodes, width});
    for_each_config(configs, [&](int64_t c) {
      const float* in = z.data_ptr<float>() + c * nodes * 2 * width;
      float* out = y.data_ptr<float>() + c * nodes * width;
      for (int64_t i = 0; i < nodes; ++i) {
        std::memcpy(out + i * width, in + i * 2 * width, width * sizeof(float));
        for (int32_t e = edges.begin[i]; e < edges.begin[i + 1]; ++e)
          add_scaled(in + edges.node[e] * 2 * width + width, edges.weight[e], out + i * width, width);
      }
    });
    context->saved_data["adjacency"] = adjacency_address;
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const torch::Tensor g = gradients[0].contiguous();
    const WeightedEdges& edges =
        reinterpret_cast<const LayoutAdjacency*>(context->saved_data["adjacency"].toInt())->back;
    const int64_t configs = g.size(0), nodes = g.size(1), width = g.size(2);
    torch::Tensor out = torch::empty({configs, nodes, 2 * width});
    for_each_config(configs, [&](int64_t c) {
      const float* from = g.data_ptr<float>() + c * nodes * width;
      float* to = out.data_ptr<float>() + c * nodes * 2 * width;
      for (int64_t j = 0; j < nodes; ++j) {
        float* row = to + j * 2 * width;
        std::memcpy(row, from + j * width, width * sizeof(float));
        std::memset(row + width, 0, width * sizeof(float));
        for (int32_t e = edges.begin[j]; e < edges.begin[j + 1]; ++e)
          add_scaled(from + edges.node[e] * width, edges.weight[e], row + width, width);
      }
    });
    return {out, torch::Tensor()};
  }
};

// Softmax of inverse x over configurations, of columns `first` to `last` of [configs, stride].
struct SoftmaxOverConfigs {
  template <int kLanes>
  static HONE_INLINE void run(const float* x, int64_t configs, int64_t stride, int64_t first, int64_t last,
                              float inverse, float* y) {
    using L = Lanes<kLanes>;
    const int64_t end = configs * stride;
    int64_t k = first;
    for (; k + kLanes <= last; k += kLanes) {
      typename L::Lane top = L::at(x + k) * inverse, sum{};  // a temperature may have become negative
      for (int64_t i = k; i < end; i += stride) {
        const typename L::Lane value = L::at(x + i) * inverse;
        top = top < value ? value : top;
      }
      for (int64_t i = k; i < end; i += stride) {
        typename L::Lane e = L::at(x + i) * inverse - top;
        L::bound(e, 87);
        L::exponential(e);
        sum += e;
        L::put(e, y + i);
      }
      const typename L::Lane share = 1.0f / sum;
      for (int64_t i = k; i < end; i += stride) L::put(L::at(y + i) * share, y + i);
    }
    for (; k < last; ++k) {
      float top = x[k] * inverse, sum = 0;
      for (int64_t i = k; i < end; i += stride) top = std::max(top, x[i] * inverse);
      for (int64_t i = k; i < end; i += stride) sum += y[i] = std::exp(x[i] * inverse - top);
      for (int64_t i = k; i < end; i += stride) y[i] /= sum;
    }
  }
};

struct CrossAttention : torch::autograd::Function<CrossAttention> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given, const torch::Tensor& temperature) {
    const torch::Tensor x = given.contiguous(), s = torch::empty_like(x);
    const int64_t configs = x.size(0), nodes = x.size(1), width = x.size(2);
    const float *xs = x.data_ptr<float>(), inverse = 1 / temperature.item<float>();
    float* shares = s.data_ptr<float>();
    constexpr int64_t kGrain = 512;  // columns worth a thread
    at::parallel_for(0, nodes * width, kGrain, [&](int64_t first, int64_t last) {
      run_wide<SoftmaxOverConfigs>(xs, configs, nodes * width, first, last, inverse, shares);
    });
    torch::Tensor y = torch::empty({configs, nodes, 2 * width});
    float* ys = y.data_ptr<float>();
    for_each_config(configs, [&](int64_t c) {
      for (int64_t r = c * nodes; r < (c + 1) * nodes; ++r) {
        std::memcpy(ys + 2 * r * width, xs + r * width, width * sizeof(float));
        multiply(xs + r * width, shares + r * width, ys + (2 * r + 1) * width, width);
      }
    });
    context->save_for_backward({x, s, temperature});
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &s = saved[1], g = gradients[0].contiguous();
    const float inverse = 1 / saved[2].item<float>();
    const int64_t configs = x.size(0), nodes = x.size(1), width = x.size(2);
    const float *gs = g.data_ptr<float>(), *xs = x.data_ptr<float>(), *shares = s.data_ptr<float>();
    std::vector<float> dot(nodes * width);
    for (int64_t r = 0; r < configs * nodes; ++r)  // sums over configurations: one thread
      add_triple(gs + (2 * r + 1) * width, xs + r * width, shares + r * width, dot.data() + r % nodes * width, width);
    torch::Tensor out = torch::empty_like(x), slopes = torch::zeros({configs, width});
    float *to = out.data_ptr<float>(), *slope = slopes.data_ptr<float>();
    for_each_config(configs, [&](int64_t c) {
      for (int64_t i = 0; i < nodes; ++i) {
        const int64_t r = c * nodes + i;
        attention_gradient(gs + 2 * r * width, xs + r * width, shares + r * width, dot.data() + i * width, inverse,
                           to + r * width, slope + c * width, width);
      }
    });
    return {out, slopes.sum() * (-inverse * inverse)};
  }
};

struct Gate : torch::autograd::Function<Gate> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const torch::Tensor& logits) {
    const torch::Tensor share = torch::sigmoid(logits);
    context->save_for_backward({x, share});
    return x * share;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor x = saved[0].contiguous(), share = saved[1].contiguous(), g = gradients[0].contiguous();
    torch::Tensor of_x = torch::empty_like(x), of_logits = torch::empty_like(x);
    const float *gs = g.data_ptr<float>(), *xs = x.data_ptr<float>(), *shares = share.data_ptr<float>();
    float *to_x = of_x.data_ptr<float>(), *to_logits = of_logits.data_ptr<float>();
    constexpr int64_t kGrain = 4096;
    at::parallel_for(0, x.numel(), kGrain, [&](int64_t first, int64_t last) {
      gate_gradient(gs + first, xs + first, shares + first, to_x + first, to_logits + first, last - first);
    });
    return {of_x, of_logits};
  }
};

}  // namespace

torch::Tensor gate(const torch::Tensor& x, const torch::Tensor& logits) {
  if (x.sizes() != logits.sizes()) throw InternalError("gate: ill-shaped");
  return Gate::apply(x, logits);
}

torch::Tensor gather_rows(const torch::Tensor& rows, const torch::Tensor& index) {
  if (rows.dim() != 2 || index.dim() != 2) throw InternalError("gather_rows: ill-shaped");
  return GatherRows::apply(rows, index);
}

torch::Tensor instance_norm(const torch::Tensor& x) {
  if (x.dim() != 3) throw InternalError("instance_norm: ill-shaped");
  return InstanceNorm::apply(x, torch::full({x.size(1)}, 1 / static_cast<float>(x.size(1))));
}

torch::Tensor instance_norm(const torch::Tensor& x, const torch::Tensor& shares) {
  if (x.dim() != 3 || shares.dim() != 1 || shares.size(0) != x.size(1))
    throw InternalError("instance_norm: ill-shaped");
  return InstanceNorm::apply(x, shares);
}

torch::Tensor add_neighbours(const torch::Tensor& z, const LayoutAdjacency& adjacency) {
  if (z.dim() != 3 || z.size(2) % 2 != 0 || z.size(1) + 1 != static_cast<int64_t>(adjacency.in.begin.size()))
    throw InternalError("add_neighbours: ill-shaped");
  return AddNeighbours::apply(z, reinterpret_cast<int64_t>(&adjacency));
}

torch::Tensor with_cross_attention(const torch::Tensor& x, const torch::Tensor& temperature) {
  if (x.dim() != 3) throw InternalError("with_cross_attention: ill-shaped");
  return CrossAttention::apply(x, temperature);
}

}  // namespace hone::learn
