#include "learn/go/go_pool.h"

#include <torch/csrc/autograd/custom_function.h>

#include "base/error.h"

namespace hone::learn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Rows are tens of floats wide, so the widest registers pay off; the version is chosen when the library is loaded.
__attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3"))) void keep_larger_of(
    const float* x, int32_t row, float* best, int32_t* where, int64_t n) {
  for (int64_t c = 0; c < n; ++c) {
    const bool larger = x[c] > best[c];
    best[c] = larger ? x[c] : best[c];
    where[c] = larger ? row : where[c];
  }
}

struct MaxOfNeighbours : torch::autograd::Function<MaxOfNeighbours> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, int64_t lists_address) {
    const auto& lists = *reinterpret_cast<const NeighbourLists*>(lists_address);
    const torch::Tensor in = x.contiguous();
    const int64_t nodes = in.size(0), width = in.size(1);
    torch::Tensor y = torch::zeros({nodes, width}), where = torch::full({nodes, width}, -1, torch::kInt);
    const float* px = in.data_ptr<float>();
    for (int64_t v = 0; v < nodes; ++v)
      for (int32_t e = lists.begin[v]; e < lists.begin[v + 1]; ++e)
        keep_larger_of(px + lists.node[e] * width, lists.node[e], y.data_ptr<float>() + v * width,
                       where.data_ptr<int32_t>() + v * width, width);
    context->save_for_backward({where});
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const torch::Tensor where = context->get_saved_variables()[0], g = gradients[0].contiguous();
    const int64_t nodes = g.size(0), width = g.size(1);
    torch::Tensor out = torch::zeros({nodes, width});
    const float* pg = g.data_ptr<float>();
    const int32_t* row = where.data_ptr<int32_t>();
    float* po = out.data_ptr<float>();
    for (int64_t v = 0; v < nodes; ++v)
      for (int64_t c = 0; c < width; ++c)
        if (const int32_t u = row[v * width + c]; u >= 0) po[u * width + c] += pg[v * width + c];
    return {out, torch::Tensor()};
  }
};

}  // namespace

torch::Tensor max_of_neighbours(const torch::Tensor& x, const NeighbourLists& lists) {
  if (x.size(0) != lists.nodes()) throw InternalError("max_of_neighbours: x and the lists differ in nodes");
  return MaxOfNeighbours::apply(x, reinterpret_cast<int64_t>(&lists));
}

}  // namespace hone::learn
