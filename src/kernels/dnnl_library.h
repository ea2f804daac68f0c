// oneDNN's C interface, opened while the program runs: Hone works without it.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <string>

namespace hone {

#define HONE_DNNL_FUNCTIONS(F)                 \
  F(engine_create)                             \
  F(stream_create)                             \
  F(stream_destroy)                            \
  F(stream_wait)                               \
  F(version)                                   \
  F(memory_desc_create_with_strides)           \
  F(memory_desc_create_with_tag)               \
  F(memory_desc_clone)                         \
  F(memory_desc_destroy)                       \
  F(memory_desc_equal)                         \
  F(memory_desc_get_size)                      \
  F(memory_create)                             \
  F(memory_destroy)                            \
  F(memory_set_data_handle)                    \
  F(primitive_attr_create)                     \
  F(primitive_attr_destroy)                    \
  F(primitive_attr_set_post_ops)               \
  F(primitive_attr_set_scratchpad_mode)        \
  F(post_ops_create)                           \
  F(post_ops_destroy)                          \
  F(post_ops_append_eltwise)                   \
  F(post_ops_append_binary)                    \
  F(convolution_forward_primitive_desc_create) \
  F(matmul_primitive_desc_create)              \
  F(reorder_primitive_desc_create)             \
  F(primitive_desc_query)                      \
  F(primitive_desc_query_md)                   \
  F(primitive_desc_destroy)                    \
  F(primitive_create)                          \
  F(primitive_destroy)                         \
  F(primitive_execute)

struct DnnlLibrary {
#define HONE_DNNL_MEMBER(name) decltype(&dnnl_##name) name = nullptr;
  HONE_DNNL_FUNCTIONS(HONE_DNNL_MEMBER)
#undef HONE_DNNL_MEMBER
  void (*omp_set_num_threads)(int) = nullptr;  // of the calling thread
  int (*omp_get_max_threads)() = nullptr;
  dnnl_engine_t engine = nullptr;

  std::string version_text() const;
};

// Null where the library is absent or does not work. Never closed.
const DnnlLibrary* dnnl_library();

// oneDNN computes on the thread that calls it alone while one of these exists there: XLA has threads of its own.
class DnnlOneThread {
 public:
  explicit DnnlOneThread(const DnnlLibrary& library) : library_(library), before_(library.omp_get_max_threads()) {
    if (before_ != 1) library_.omp_set_num_threads(1);
  }
  ~DnnlOneThread() {
    if (before_ != 1) library_.omp_set_num_threads(before_);
  }
  DnnlOneThread(const DnnlOneThread&) = delete;
  DnnlOneThread& operator=(const DnnlOneThread&) = delete;

 private:
  const DnnlLibrary& library_;
  int before_;
};

}  // namespace hone
