// oneDNN's objects, which free themselves.
#pragma once

#include <utility>
#include <vector>

#include "base/error.h"
#include "kernels/dnnl_library.h"
#include "kernels/dnnl_plan.h"

namespace hone {

inline void require_dnnl(dnnl_status_t status, const char* what) {
  if (status != dnnl_success) throw RunError(std::string("oneDNN: ") + what + " failed");
}

template <class Object>
class DnnlHandle {
 public:
  using Destroy = dnnl_status_t (*)(Object);
  DnnlHandle() = default;
  DnnlHandle(const DnnlLibrary& dnnl, Object object, Destroy destroy)
      : dnnl_(&dnnl), object_(object), destroy_(destroy) {}
  ~DnnlHandle() {
    if (object_ != nullptr) destroy_(object_);
  }
  DnnlHandle(DnnlHandle&& other) noexcept { swap(other); }
  DnnlHandle& operator=(DnnlHandle&& other) noexcept {
    swap(other);
    return *this;
  }
  Object get() const { return object_; }

 protected:
  const DnnlLibrary* dnnl_ = nullptr;

 private:
  void swap(DnnlHandle& other) noexcept {
    std::swap(dnnl_, other.dnnl_);
    std::swap(object_, other.object_);
    std::swap(destroy_, other.destroy_);
  }
  Object object_ = nullptr;
  Destroy destroy_ = nullptr;
};

// How an array of f32 lies in memory.
class DnnlDesc : public DnnlHandle<dnnl_memory_desc_t> {
 public:
  using DnnlHandle::DnnlHandle;
  DnnlDesc(const DnnlLibrary& dnnl, const DnnlArray& array)
      : DnnlHandle(dnnl, made([&](dnnl_memory_desc_t* desc) {
                     return dnnl.memory_desc_create_with_strides(desc, static_cast<int>(array.sizes.size()),
                                                                 array.sizes.data(), dnnl_f32, array.strides.data());
                   }),
                   dnnl.memory_desc_destroy) {}
  // In whatever order a kernel prefers.
  static DnnlDesc any(const DnnlLibrary& dnnl, const std::vector<int64_t>& sizes) {
    return {dnnl, made([&](dnnl_memory_desc_t* desc) {
              return dnnl.memory_desc_create_with_tag(desc, static_cast<int>(sizes.size()), sizes.data(), dnnl_f32,
                                                      dnnl_format_tag_any);
            }),
            dnnl.memory_desc_destroy};
  }
  static DnnlDesc copy(const DnnlLibrary& dnnl, const_dnnl_memory_desc_t of) {
    return {dnnl, made([&](dnnl_memory_desc_t* desc) { return dnnl.memory_desc_clone(desc, of); }),
            dnnl.memory_desc_destroy};
  }
  bool same(const DnnlDesc& other) const { return dnnl_->memory_desc_equal(get(), other.get()) != 0; }
  size_t bytes() const { return dnnl_->memory_desc_get_size(get()); }

 private:
  template <class Make>
  static dnnl_memory_desc_t made(Make make) {
    dnnl_memory_desc_t desc = nullptr;
    require_dnnl(make(&desc), "describing an array");
    return desc;
  }
};

class DnnlMemory : public DnnlHandle<dnnl_memory_t> {
 public:
  DnnlMemory() = default;
  // Owns memory of its own, or gets an address before each use.
  DnnlMemory(const DnnlLibrary& dnnl, const DnnlDesc& desc, bool owns = false)
      : DnnlHandle(dnnl, made(dnnl, desc, owns), dnnl.memory_destroy) {}
  void set(void* data) { require_dnnl(dnnl_->memory_set_data_handle(get(), data), "setting an address"); }

 private:
  static dnnl_memory_t made(const DnnlLibrary& dnnl, const DnnlDesc& desc, bool owns) {
    dnnl_memory_t memory = nullptr;
    require_dnnl(dnnl.memory_create(&memory, desc.get(), dnnl.engine, owns ? DNNL_MEMORY_ALLOCATE : DNNL_MEMORY_NONE),
                 "memory");
    return memory;
  }
};

class DnnlStream : public DnnlHandle<dnnl_stream_t> {
 public:
  explicit DnnlStream(const DnnlLibrary& dnnl) : DnnlHandle(dnnl, made(dnnl), dnnl.stream_destroy) {}
  void wait() const { require_dnnl(dnnl_->stream_wait(get()), "computing"); }

 private:
  static dnnl_stream_t made(const DnnlLibrary& dnnl) {
    dnnl_stream_t stream = nullptr;
    require_dnnl(dnnl.stream_create(&stream, dnnl.engine, dnnl_stream_default_flags), "a stream");
    return stream;
  }
};

class DnnlPrimitive : public DnnlHandle<dnnl_primitive_t> {
 public:
  using DnnlHandle::DnnlHandle;
  void run(const DnnlStream& stream, const std::vector<dnnl_exec_arg_t>& arguments) const {
    require_dnnl(dnnl_->primitive_execute(get(), stream.get(), static_cast<int>(arguments.size()), arguments.data()),
                 "computing");
    stream.wait();
  }
};

class DnnlPrimitiveDesc : public DnnlHandle<dnnl_primitive_desc_t> {
 public:
  DnnlPrimitiveDesc(const DnnlLibrary& dnnl, dnnl_primitive_desc_t made)
      : DnnlHandle(dnnl, made, dnnl.primitive_desc_destroy) {}
  DnnlDesc weights() const { return queried(dnnl_query_weights_md); }
  DnnlDesc scratchpad() const { return queried(dnnl_query_scratchpad_md); }
  // As oneDNN calls its kernel.
  const char* name() const {
    const char* name = "";
    require_dnnl(dnnl_->primitive_desc_query(get(), dnnl_query_impl_info_str, 0, &name), "naming a kernel");
    return name;
  }
  DnnlPrimitive primitive() const {
    dnnl_primitive_t made = nullptr;
    require_dnnl(dnnl_->primitive_create(&made, get()), "making a kernel");
    return {*dnnl_, made, dnnl_->primitive_destroy};
  }

 private:
  DnnlDesc queried(dnnl_query_t what) const {
    return DnnlDesc::copy(*dnnl_, dnnl_->primitive_desc_query_md(get(), what, 0));
  }
};

// Of a primitive: what follows the operation, and that its memory for itself is ours.
class DnnlAttributes : public DnnlHandle<dnnl_primitive_attr_t> {
 public:
  explicit DnnlAttributes(const DnnlLibrary& dnnl)
      : DnnlHandle(dnnl, made(dnnl), dnnl.primitive_attr_destroy), steps_(dnnl, list(dnnl), dnnl.post_ops_destroy) {
    require_dnnl(dnnl.primitive_attr_set_scratchpad_mode(get(), dnnl_scratchpad_mode_user), "an attribute");
  }
  void then(dnnl_alg_kind_t what, float alpha, float beta) {
    require_dnnl(dnnl_->post_ops_append_eltwise(steps_.get(), what, alpha, beta), "a step");
  }
  void then(dnnl_alg_kind_t what, const DnnlDesc& operand) {
    require_dnnl(dnnl_->post_ops_append_binary(steps_.get(), what, operand.get()), "a step");
  }
  void finish() { require_dnnl(dnnl_->primitive_attr_set_post_ops(get(), steps_.get()), "an attribute"); }

 private:
  static dnnl_primitive_attr_t made(const DnnlLibrary& dnnl) {
    dnnl_primitive_attr_t attributes = nullptr;
    require_dnnl(dnnl.primitive_attr_create(&attributes), "attributes");
    return attributes;
  }
  static dnnl_post_ops_t list(const DnnlLibrary& dnnl) {
    dnnl_post_ops_t steps = nullptr;
    require_dnnl(dnnl.post_ops_create(&steps), "steps");
    return steps;
  }
  DnnlHandle<dnnl_post_ops_t> steps_;
};

}  // namespace hone
