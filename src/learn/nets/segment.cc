#include "learn/nets/segment.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

// Rows are hundreds of floats wide, so the widest registers pay off; the version is chosen when the library is loaded.
// No fused multiply-add: loops use it for some register widths only, so results would depend on a row's address.
#define HONE_WIDE __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3", "fp-contract=off")))

namespace hone::learn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

template <class T>
int64_t address(const T& object) {
  return reinterpret_cast<int64_t>(&object);
}
template <class T>
const T& object_at(const c10::IValue& address) {
  return *reinterpret_cast<const T*>(address.toInt());
}

HONE_WIDE void add_relu(const float* a, const float* b, float* y, int64_t n) {
  for (int64_t c = 0; c < n; ++c) y[c] = std::max(a[c] + b[c], 0.0f);
}
HONE_WIDE void add_relu_gradient(const float* y, const float* g, float* a, float* b, int64_t n) {
  for (int64_t c = 0; c < n; ++c) {
    const float passed = y[c] > 0 ? g[c] : 0.0f;
    a[c] += passed;
    b[c] += passed;
  }
}
HONE_WIDE void add_scaled_relu(const float* x, float scale, float* y, int64_t n) {
  for (int64_t c = 0; c < n; ++c) y[c] += scale * std::max(x[c], 0.0f);
}
HONE_WIDE void add_scaled(const float* x, float scale, float* y, int64_t n) {
  for (int64_t c = 0; c < n; ++c) y[c] += scale * x[c];
}
HONE_WIDE void relu_gradient(const float* x, float* g, int64_t n) {
  for (int64_t c = 0; c < n; ++c) g[c] = x[c] > 0 ? g[c] : 0.0f;
}
HONE_WIDE void keep_larger(const float* x, int32_t row, float* best, int32_t* where, int64_t n) {
  for (int64_t c = 0; c < n; ++c) {
    const bool larger = x[c] > best[c];
    best[c] = larger ? x[c] : best[c];
    where[c] = larger ? row : where[c];
  }
}

// Selects values to drop: a 32-bit mix of key and index (constants of Wellons' lowbias32), compared with the threshold.
struct Drop {
  Drop(double probability, uint64_t key)
      : threshold(static_cast<uint32_t>(probability * 4294967296.0)),
        low(static_cast<uint32_t>(key)),
        high(static_cast<uint32_t>(key >> 32)),
        scale(static_cast<float>(1 / (1 - probability))) {}
  uint32_t threshold, low, high;
  float scale;
};
inline __attribute__((always_inline)) uint32_t mix(uint32_t x, uint32_t low, uint32_t high) {
  x = x * 0x9e3779b9u + low;
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= (x >> 15) ^ high;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}
HONE_WIDE void drop_relu(const Drop& drop, const float* x, float* y, int64_t n) {
  const uint32_t threshold = drop.threshold, low = drop.low, high = drop.high;
  const float scale = drop.scale;
  for (int64_t i = 0; i < n; ++i)
    y[i] = mix(static_cast<uint32_t>(i), low, high) >= threshold ? std::max(x[i], 0.0f) * scale : 0.0f;
}
HONE_WIDE void drop_any(const Drop& drop, const float* x, float* y, int64_t n) {
  const uint32_t threshold = drop.threshold, low = drop.low, high = drop.high;
  const float scale = drop.scale;
  for (int64_t i = 0; i < n; ++i) y[i] = mix(static_cast<uint32_t>(i), low, high) >= threshold ? x[i] * scale : 0.0f;
}
HONE_WIDE void pass_where_positive(const float* y, float scale, const float* g, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = y[i] > 0 ? g[i] * scale : 0.0f;
}

// Calls visit(kernel, copy, first row of the copy).
template <class Visit>
void for_each_copy(const Rows& rows, Visit&& visit) {
  for (int64_t k = 0; k < rows.kernels(); ++k)
    for (int64_t copy = 0; copy < rows.copies_of(k); ++copy)
      visit(k, rows.copy_begin[k] + copy, rows.row_begin[k] + copy * rows.nodes_of(k));
}

struct JoinRows : torch::autograd::Function<JoinRows> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& per_node, const torch::Tensor& per_copy,
                               int64_t rows_address) {
    const Rows& rows = *reinterpret_cast<const Rows*>(rows_address);
    const int64_t width = per_node.size(1);
    const torch::Tensor a = per_node.contiguous(), b = per_copy.contiguous();
    torch::Tensor y = torch::empty({rows.rows(), width});
    const float *pa = a.data_ptr<float>(), *pb = b.data_ptr<float>();
    float* py = y.data_ptr<float>();
    for_each_copy(rows, [&](int64_t k, int64_t copy, int64_t first) {
      for (int64_t i = 0; i < rows.nodes_of(k); ++i)
        add_relu(pa + (rows.node_begin[k] + i) * width, pb + copy * width, py + (first + i) * width, width);
    });
    context->saved_data["rows"] = rows_address;
    context->save_for_backward({y});
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Rows& rows = object_at<Rows>(context->saved_data["rows"]);
    const torch::Tensor y = context->get_saved_variables()[0], g = gradients[0].contiguous();
    const int64_t width = y.size(1);
    torch::Tensor a = torch::zeros({rows.nodes(), width}), b = torch::zeros({rows.copies(), width});
    const float *py = y.data_ptr<float>(), *pg = g.data_ptr<float>();
    float *pa = a.data_ptr<float>(), *pb = b.data_ptr<float>();
    for_each_copy(rows, [&](int64_t k, int64_t copy, int64_t first) {
      for (int64_t i = 0; i < rows.nodes_of(k); ++i)
        add_relu_gradient(py + (first + i) * width, pg + (first + i) * width, pa + (rows.node_begin[k] + i) * width,
                          pb + copy * width, width);
    });
    return {a, b, torch::Tensor()};
  }
};

struct DropValues : torch::autograd::Function<DropValues> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, double probability, int64_t key,
                               bool relu) {
    const torch::Tensor in = x.contiguous();
    torch::Tensor y = torch::empty_like(in);
    const Drop drop(probability, static_cast<uint64_t>(key));
    (relu ? drop_relu : drop_any)(drop, in.data_ptr<float>(), y.data_ptr<float>(), in.numel());
    context->saved_data["probability"] = probability;
    context->saved_data["key"] = key;
    context->saved_data["relu"] = relu;
    if (relu) context->save_for_backward({y});
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const torch::Tensor g = gradients[0].contiguous();
    torch::Tensor out = torch::empty_like(g);
    const Drop drop(context->saved_data["probability"].toDouble(),
                    static_cast<uint64_t>(context->saved_data["key"].toInt()));
    if (context->saved_data["relu"].toBool())  // dropped and negative values are 0 in y
      pass_where_positive(context->get_saved_variables()[0].data_ptr<float>(), drop.scale, g.data_ptr<float>(),
                          out.data_ptr<float>(), g.numel());
    else
      drop_any(drop, g.data_ptr<float>(), out.data_ptr<float>(), g.numel());
    return {out, torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }
};

struct SumOfNodes : torch::autograd::Function<SumOfNodes> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, int64_t rows_address) {
    const Rows& rows = *reinterpret_cast<const Rows*>(rows_address);
    const int64_t width = x.size(1);
    const torch::Tensor in = x.contiguous();
    torch::Tensor y = torch::zeros({rows.copies(), width});
    const float* px = in.data_ptr<float>();
    float* py = y.data_ptr<float>();
    for_each_copy(rows, [&](int64_t k, int64_t copy, int64_t first) {
      for (int64_t i = 0; i < rows.nodes_of(k); ++i) add_scaled(px + (first + i) * width, 1, py + copy * width, width);
    });
    context->saved_data["rows"] = rows_address;
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Rows& rows = object_at<Rows>(context->saved_data["rows"]);
    const torch::Tensor g = gradients[0].contiguous();
    const int64_t width = g.size(1);
    torch::Tensor out = torch::empty({rows.rows(), width});
    for_each_copy(rows, [&](int64_t k, int64_t copy, int64_t first) {
      for (int64_t i = 0; i < rows.nodes_of(k); ++i)
        std::memcpy(out.data_ptr<float>() + (first + i) * width, g.data_ptr<float>() + copy * width,
                    width * sizeof(float));
    });
    return {out, torch::Tensor()};
  }
};

// y[i] = sum of x[j] over the nodes j that `begin` and `node` list for i (as in Adjacency), within each copy.
torch::Tensor sum_of_listed(const torch::Tensor& x, const std::vector<int32_t>& begin, const std::vector<int32_t>& node,
                            const Rows& rows) {
  const torch::Tensor in = x.contiguous();
  torch::Tensor y = torch::zeros_like(in);
  const int64_t width = in.size(1);
  const float* px = in.data_ptr<float>();
  float* py = y.data_ptr<float>();
  for_each_copy(rows, [&](int64_t k, int64_t, int64_t first) {
    const int64_t node0 = rows.node_begin[k];
    for (int64_t i = 0; i < rows.nodes_of(k); ++i)
      for (int32_t e = begin[node0 + i]; e < begin[node0 + i + 1]; ++e)
        add_scaled(px + (first + node[e] - node0) * width, 1, py + (first + i) * width, width);
  });
  return y;
}

struct SumOfNeighbours : torch::autograd::Function<SumOfNeighbours> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, int64_t adjacency_address,
                               int64_t rows_address) {
    const Adjacency& adjacency = *reinterpret_cast<const Adjacency*>(adjacency_address);
    context->saved_data["adjacency"] = adjacency_address;
    context->saved_data["rows"] = rows_address;
    return sum_of_listed(x, adjacency.begin, adjacency.neighbour, *reinterpret_cast<const Rows*>(rows_address));
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Adjacency& adjacency = object_at<Adjacency>(context->saved_data["adjacency"]);
    const Rows& rows = object_at<Rows>(context->saved_data["rows"]);
    return {sum_of_listed(gradients[0], adjacency.back_begin, adjacency.back_node, rows), torch::Tensor(),
            torch::Tensor()};
  }
};

struct MeanAndMax : torch::autograd::Function<MeanAndMax> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, int64_t rows_address) {
    const Rows& rows = *reinterpret_cast<const Rows*>(rows_address);
    const int64_t width = x.size(1);
    const torch::Tensor in = x.contiguous();
    torch::Tensor y = torch::zeros({rows.copies(), 2 * width}),
                  where = torch::empty({rows.copies(), width}, torch::kInt);
    const float* px = in.data_ptr<float>();
    for_each_copy(rows, [&](int64_t k, int64_t copy, int64_t first) {
      float* mean = y.data_ptr<float>() + copy * 2 * width;
      float* max = mean + width;
      int32_t* row = where.data_ptr<int32_t>() + copy * width;
      std::memcpy(max, px + first * width, width * sizeof(float));
      std::fill(row, row + width, static_cast<int32_t>(first));
      const float scale = 1.0f / static_cast<float>(rows.nodes_of(k));
      for (int64_t i = first; i < first + rows.nodes_of(k); ++i) {
        add_scaled(px + i * width, scale, mean, width);
        keep_larger(px + i * width, static_cast<int32_t>(i), max, row, width);
      }
    });
    context->saved_data["rows"] = rows_address;
    context->save_for_backward({where});
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Rows& rows = object_at<Rows>(context->saved_data["rows"]);
    const torch::Tensor where = context->get_saved_variables()[0], g = gradients[0].contiguous();
    const int64_t width = where.size(1);
    torch::Tensor out = torch::zeros({rows.rows(), width});
    float* po = out.data_ptr<float>();
    for_each_copy(rows, [&](int64_t k, int64_t copy, int64_t first) {
      const float* mean = g.data_ptr<float>() + copy * 2 * width;
      const int32_t* row = where.data_ptr<int32_t>() + copy * width;
      const float scale = 1.0f / static_cast<float>(rows.nodes_of(k));
      for (int64_t i = first; i < first + rows.nodes_of(k); ++i) add_scaled(mean, scale, po + i * width, width);
      for (int64_t c = 0; c < width; ++c) po[row[c] * width + c] += mean[width + c];
    });
    return {out, torch::Tensor()};
  }
};

}  // namespace

torch::Tensor join_rows(const torch::Tensor& per_node, const torch::Tensor& per_copy, const Rows& rows) {
  const torch::Tensor copies = per_copy.defined() ? per_copy : torch::zeros({rows.copies(), per_node.size(1)});
  return JoinRows::apply(per_node, copies, address(rows));
}

void mean_of_neighbours(const torch::Tensor& x, const Adjacency& adjacency, const Rows& rows, torch::Tensor y) {
  if (x.size(0) != rows.rows() || x.stride(1) != 1 || y.stride(1) != 1)
    throw InternalError("mean_of_neighbours: rows do not match");
  const int64_t width = x.size(1), x_stride = x.stride(0), y_stride = y.stride(0);
  const float* px = x.data_ptr<float>();
  float* py = y.data_ptr<float>();
  for_each_copy(rows, [&](int64_t k, int64_t, int64_t first) {
    const int64_t node0 = rows.node_begin[k];
    for (int64_t i = 0; i < rows.nodes_of(k); ++i) {
      const int32_t begin = adjacency.begin[node0 + i], end = adjacency.begin[node0 + i + 1];
      const float scale = 1.0f / static_cast<float>(end - begin);
      float* row = py + (first + i) * y_stride;
      std::fill(row, row + width, 0.0f);
      for (int32_t e = begin; e < end; ++e)
        add_scaled_relu(px + (first + adjacency.neighbour[e] - node0) * x_stride, scale, row, width);
    }
  });
}

void mean_of_neighbours_gradient(const torch::Tensor& x, const torch::Tensor& gradient, const Adjacency& adjacency,
                                 const Rows& rows, torch::Tensor at_x) {
  const int64_t width = x.size(1), x_stride = x.stride(0), g_stride = gradient.stride(0), out_stride = at_x.stride(0);
  const float *px = x.data_ptr<float>(), *pg = gradient.data_ptr<float>();
  float* out = at_x.data_ptr<float>();
  for_each_copy(rows, [&](int64_t k, int64_t, int64_t first) {
    const int64_t node0 = rows.node_begin[k];
    for (int64_t j = 0; j < rows.nodes_of(k); ++j) {
      float* row = out + (first + j) * out_stride;
      std::fill(row, row + width, 0.0f);
      for (int32_t e = adjacency.back_begin[node0 + j]; e < adjacency.back_begin[node0 + j + 1]; ++e) {
        const int32_t i = adjacency.back_node[e];
        const float scale = 1.0f / static_cast<float>(adjacency.begin[i + 1] - adjacency.begin[i]);
        add_scaled(pg + (first + i - node0) * g_stride, scale, row, width);
      }
      relu_gradient(px + (first + j) * x_stride, row, width);
    }
  });
}

torch::Tensor sum_of_neighbours(const torch::Tensor& x, const Adjacency& adjacency, const Rows& rows) {
  if (x.size(0) != rows.rows()) throw InternalError("sum_of_neighbours: rows do not match");
  return SumOfNeighbours::apply(x, address(adjacency), address(rows));
}

torch::Tensor drop_values(const torch::Tensor& x, double probability, uint64_t key, bool relu) {
  return DropValues::apply(x, probability, static_cast<int64_t>(key), relu);
}

torch::Tensor sum_of_nodes(const torch::Tensor& x, const Rows& rows) { return SumOfNodes::apply(x, address(rows)); }

torch::Tensor mean_and_max_of_nodes(const torch::Tensor& x, const Rows& rows) {
  return MeanAndMax::apply(x, address(rows));
}

}  // namespace hone::learn
