// The layers of a graph policy, from the tensors of its file. What each computes: learn/go/go_policy.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/dense.h"
#include "go/go_graph.h"
#include "options/go_options.h"
#include "options/safetensors.h"

namespace hone::go {

// Tensors of float32 by name; throw Error for those that are missing or have another shape.
class GoTensors {
 public:
  explicit GoTensors(const options::TensorFile& file) : file_(file) {}
  std::vector<float> values(const std::string& name, const std::vector<int64_t>& shape) const;
  dense::Linear linear(const std::string& name, int64_t inputs, int64_t outputs) const;
  dense::LayerNorm norm(const std::string& name, int64_t width) const;

 private:
  const options::TensorFile& file_;
};

// [nodes, hidden] -> the same.
class GoSage {
 public:
  GoSage(const GoTensors& tensors, const std::string& name, int64_t hidden);
  dense::Matrix forward(const dense::Matrix& x, const GoGraph& graph, int threads) const;

 private:
  dense::Linear pool_, combine_;
  dense::LayerNorm norm_;
};

// Attention over segments, its input scaled by the pooled graph [hidden]. [nodes, hidden] -> the same.
class GoAttended {
 public:
  GoAttended(const GoTensors& tensors, const std::string& name, const options::GoOptions& options);
  dense::Matrix forward(dense::Matrix x, std::span<const float> pooled, int threads) const;

 private:
  struct Segment;
  void modulate(std::span<const float> pooled, dense::Matrix& x) const;
  dense::Matrix attend(const dense::Matrix& query, const dense::Matrix& key_value, int threads) const;
  void attend_segment(const Segment& segment, dense::Matrix& out) const;

  bool modulation_, recurrence_;
  int64_t hidden_, heads_, segment_;
  dense::Linear modulate_, query_, key_value_, attended_, wide_, narrow_;
  dense::LayerNorm norm1_, norm2_;
};

}  // namespace hone::go
