// Copies of weights in another order, which kernels keep from one run to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace hone {

// How often declared weights got other values in this process. Copies from before are out of date.
uint64_t weights_epoch();
void weights_changed();

// 64-byte aligned memory that measuring knows of.
class KeptWeights {
 public:
  explicit KeptWeights(size_t bytes);
  ~KeptWeights();
  KeptWeights(const KeptWeights&) = delete;
  KeptWeights& operator=(const KeptWeights&) = delete;
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_;
  size_t bytes_;
};

// Of all there are, while none is made or freed.
void for_each_kept(const std::function<void(const void* data, size_t bytes)>& visit);

}  // namespace hone
