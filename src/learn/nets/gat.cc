// Graph attention (Velickovic et al. 2018) with several heads, one set of weights per edge direction.
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

#include "learn/nets/network.h"

namespace hone::learn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr float kSlope = 0.2f;  // of the leaky relu, as in the GAT paper

struct Attention {
  const Adjacency& adjacency;
  const Rows& rows;
  int64_t heads, width;  // width of one head

  // Calls visit(weight index, row i, row j) for every neighbour j of i and for i itself, ordered by i.
  template <class Visit>
  void for_each_pair(Visit&& visit) const {
    int64_t pair = 0;
    for (int64_t k = 0; k < rows.kernels(); ++k)
      for (int64_t copy = 0; copy < rows.copies_of(k); ++copy) {
        const int64_t node0 = rows.node_begin[k], first = rows.row_begin[k] + copy * rows.nodes_of(k);
        for (int64_t i = 0; i < rows.nodes_of(k); ++i) {
          for (int32_t e = adjacency.begin[node0 + i]; e < adjacency.begin[node0 + i + 1]; ++e)
            visit(pair++, first + i, first + adjacency.neighbour[e] - node0);
          visit(pair++, first + i, first + i);
        }
      }
  }
  int64_t pairs() const {
    int64_t count = rows.rows();
    for (int64_t k = 0; k < rows.kernels(); ++k)
      count += rows.copies_of(k) * (adjacency.begin[rows.node_begin[k + 1]] - adjacency.begin[rows.node_begin[k]]);
    return count;
  }
};

// y[i] = sum over j of softmax_j(leaky_relu(from[j] + to[i])) x[j], separately for every head.
struct Attend : torch::autograd::Function<Attend> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const torch::Tensor& from,
                               const torch::Tensor& to, int64_t attention_address) {
    const Attention& a = *reinterpret_cast<const Attention*>(attention_address);
    const torch::Tensor in = x.contiguous(), source = from.contiguous(), target = to.contiguous();
    torch::Tensor weights = torch::empty({a.pairs(), a.heads}), y = torch::zeros_like(in);
    torch::Tensor largest = torch::full({a.rows.rows(), a.heads}, -INFINITY),
                  sums = torch::zeros({a.rows.rows(), a.heads});
    const float *px = in.data_ptr<float>(), *ps = source.data_ptr<float>(), *pt = target.data_ptr<float>();
    float *pw = weights.data_ptr<float>(), *py = y.data_ptr<float>(), *pm = largest.data_ptr<float>(),
          *pz = sums.data_ptr<float>();
    const int64_t heads = a.heads, width = a.width;
    a.for_each_pair([&](int64_t pair, int64_t i, int64_t j) {
      for (int64_t h = 0; h < heads; ++h) {
        const float raw = ps[j * heads + h] + pt[i * heads + h];
        pw[pair * heads + h] = raw > 0 ? raw : kSlope * raw;
        pm[i * heads + h] = std::max(pm[i * heads + h], pw[pair * heads + h]);
      }
    });
    a.for_each_pair([&](int64_t pair, int64_t i, int64_t) {
      for (int64_t h = 0; h < heads; ++h)
        pz[i * heads + h] += pw[pair * heads + h] = std::exp(pw[pair * heads + h] - pm[i * heads + h]);
    });
    a.for_each_pair([&](int64_t pair, int64_t i, int64_t j) {
      for (int64_t h = 0; h < heads; ++h) {
        const float weight = pw[pair * heads + h] /= pz[i * heads + h];
        const float* xj = px + (j * heads + h) * width;
        float* yi = py + (i * heads + h) * width;
        for (int64_t c = 0; c < width; ++c) yi[c] += weight * xj[c];
      }
    });
    context->save_for_backward({in, source, target, weights});
    context->saved_data["adjacency"] = reinterpret_cast<int64_t>(&a.adjacency);
    context->saved_data["rows"] = reinterpret_cast<int64_t>(&a.rows);
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &source = saved[1], &target = saved[2], &weights = saved[3];
    const int64_t heads = source.size(1), width = x.size(1) / heads;
    const Attention a{*reinterpret_cast<const Adjacency*>(context->saved_data["adjacency"].toInt()),
                      *reinterpret_cast<const Rows*>(context->saved_data["rows"].toInt()), heads, width};
    const torch::Tensor g = gradients[0].contiguous();
    torch::Tensor dx = torch::zeros_like(x), dsource = torch::zeros_like(source), dtarget = torch::zeros_like(target);
    torch::Tensor dweights = torch::empty_like(weights), mean = torch::zeros_like(target);
    const float *px = x.data_ptr<float>(), *pg = g.data_ptr<float>(), *pw = weights.data_ptr<float>(),
                *ps = source.data_ptr<float>(), *pt = target.data_ptr<float>();
    float *dpx = dx.data_ptr<float>(), *dps = dsource.data_ptr<float>(), *dpt = dtarget.data_ptr<float>(),
          *dpw = dweights.data_ptr<float>(), *pm = mean.data_ptr<float>();
    a.for_each_pair([&](int64_t pair, int64_t i, int64_t j) {
      for (int64_t h = 0; h < heads; ++h) {
        const float *gi = pg + (i * heads + h) * width, *xj = px + (j * heads + h) * width;
        float* dxj = dpx + (j * heads + h) * width;
        const float weight = pw[pair * heads + h];
        float dot = 0;
        for (int64_t c = 0; c < width; ++c) {
          dot += gi[c] * xj[c];
          dxj[c] += weight * gi[c];
        }
        dpw[pair * heads + h] = dot;
        pm[i * heads + h] += weight * dot;
      }
    });
    a.for_each_pair([&](int64_t pair, int64_t i, int64_t j) {
      for (int64_t h = 0; h < heads; ++h) {
        float d = pw[pair * heads + h] * (dpw[pair * heads + h] - pm[i * heads + h]);
        if (ps[j * heads + h] + pt[i * heads + h] <= 0) d *= kSlope;
        dps[j * heads + h] += d;
        dpt[i * heads + h] += d;
      }
    });
    return {dx, dsource, dtarget, torch::Tensor()};
  }
};

// One direction of edges.
struct Heads : torch::nn::Module {
  explicit Heads(const options::ModelOptions& options)
      : heads(options.gat_heads),
        width(options.hidden / heads),
        value(register_module("value", linear(options.hidden, options.hidden))) {
    const double bound = std::sqrt(6.0 / static_cast<double>(width + 1));  // Glorot, as in the GAT paper
    from = register_parameter("from", torch::empty({heads, width}).uniform_(-bound, bound));
    to = register_parameter("to", torch::empty({heads, width}).uniform_(-bound, bound));
  }
  torch::Tensor forward(const torch::Tensor& x, const Adjacency& adjacency, const Rows& rows) {
    const torch::Tensor v = value(x);                          // [rows, hidden]
    const torch::Tensor by_head = v.view({-1, heads, width});  // [rows, heads, width]
    const Attention attention{adjacency, rows, heads, width};
    return Attend::apply(v, (by_head * from).sum(2), (by_head * to).sum(2), reinterpret_cast<int64_t>(&attention));
  }
  int64_t heads, width;
  torch::nn::Linear value;
  torch::Tensor from, to;
};

struct GatLayer : GnnLayer {
  explicit GatLayer(const options::ModelOptions& options)
      : directed(options.directed), l2_norm(options.l2_norm), dropout(options.dropout) {
    producer = register_module("producer", std::make_shared<Heads>(options));
    if (directed) user = register_module("user", std::make_shared<Heads>(options));
  }
  torch::Tensor forward(const torch::Tensor& x, const GraphBatch& batch, const Rows& rows, Noise& noise) override {
    torch::Tensor y = producer->forward(x, directed ? batch.producers : batch.both, rows);
    if (directed) y = y + user->forward(x, batch.users, rows);
    y = torch::elu(y);
    if (l2_norm) y = torch::nn::functional::normalize(y, torch::nn::functional::NormalizeFuncOptions().dim(1));
    return noise.dropout(y, dropout);
  }
  bool directed, l2_norm;
  double dropout;
  std::shared_ptr<Heads> producer, user;
};

}  // namespace

std::shared_ptr<GnnLayer> make_gat_layer(const options::ModelOptions& options) {
  return std::make_shared<GatLayer>(options);
}

}  // namespace hone::learn
