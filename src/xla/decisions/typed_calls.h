// Typed custom calls into kernels/: their attribute, what they keep from compilation on, and threads of XLA's pool.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/for_each.h"
#include "xla/ffi/api/ffi.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

// The attribute "plan" of a call as a backend configuration, and what was given to it.
std::string plan_attribute(std::string_view plan);
std::string plan_of_attribute(std::string_view configuration);

// A call to `target` with what a kernel's plan says, its operands and result in descending layouts.
std::unique_ptr<xla::HloInstruction> typed_call(const char* target, const xla::Shape& result,
                                                const std::vector<xla::HloInstruction*>& operands,
                                                std::string_view plan);

// Works of a kernel in XLA's pool. The thread that calls takes part, so that it ends though all others may be waiting for it.
// Throws what one of them threw.
ForEach in_pool(xla::ffi::ThreadPool& pool);

// What `work` returns; an exception as XLA's error.
template <class Work>
xla::ffi::Error reported(Work&& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    return xla::ffi::Error::Internal(error.what());
  }
}

// What a call keeps from a program's compilation on: a Kernel is made of the attribute "plan", and throws for what is no plan of
// its.
template <class Kernel>
struct CallState {
  static inline xla::ffi::TypeId id = {};
  explicit CallState(std::string_view plan) : kernel(plan) {}
  Kernel kernel;
};

namespace internal {

void register_call(const char* target, xla::ffi::TypeId* id, const xla::ffi::TypeInfo* type,
                   XLA_FFI_Handler* instantiate, XLA_FFI_Handler* execute);

template <class Kernel>
xla::ffi::ErrorOr<std::unique_ptr<CallState<Kernel>>> read_plan(std::string_view plan) {
  try {
    return std::make_unique<CallState<Kernel>>(plan);
  } catch (const std::exception& error) {
    return xla::ffi::Unexpected(xla::ffi::Error::Internal(error.what()));
  }
}

template <class Kernel>
XLA_FFI_Error* instantiate(XLA_FFI_CallFrame* frame) {
  static const auto* handler =
      xla::ffi::Ffi::BindInstantiate().Attr<std::string_view>("plan").To(read_plan<Kernel>).release();
  return handler->Call(frame);
}

}  // namespace internal

// Makes a target known to XLA, once. `execute` takes xla::ffi::State<CallState<Kernel>>.
template <class Kernel>
void register_typed_call(const char* target, XLA_FFI_Handler* execute) {
  static const xla::ffi::TypeInfo type = xla::ffi::MakeTypeInfo<CallState<Kernel>>();
  [[maybe_unused]] static const bool registered = [&] {
    internal::register_call(target, &CallState<Kernel>::id, &type, internal::instantiate<Kernel>, execute);
    return true;
  }();
}

}  // namespace hone::xla_side
