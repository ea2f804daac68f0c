#include "decisions/winograd_kernel.h"

#include "decisions/typed_calls.h"
#include "kernels/winograd.h"
#include "status.h"
#include "xla/ffi/api/ffi.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

namespace ffi = xla::ffi;
using xla::HloInstruction;

struct Winograd {
  explicit Winograd(std::string_view text) : plan(WinogradPlan::from_text(text)) {}
  WinogradPlan plan;
};

ffi::Error convolve(CallState<Winograd>* state, ffi::ThreadPool pool, ffi::Buffer<ffi::F32> input,
                    ffi::Buffer<ffi::F32> weights, ffi::Result<ffi::Buffer<ffi::F32>> result) {
  const WinogradPlan& plan = state->kernel.plan;
  const auto holds = [](const auto& buffer, int64_t size) {
    return static_cast<int64_t>(buffer.element_count()) == size;
  };
  if (!holds(input, plan.input_size()) || !holds(weights, plan.weights_size()) || !holds(*result, plan.output_size()))
    return ffi::Error::Internal(
        "the arrays of a convolution by Winograd's method are not of its configuration's sizes");
  return reported([&] {
    winograd_convolution(plan, input.typed_data(), weights.typed_data(), result->typed_data(),
                         static_cast<int>(pool.num_threads()), in_pool(pool));
    return ffi::Error::Success();
  });
}

XLA_FFI_DEFINE_HANDLER(kConvolve, convolve,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::State<CallState<Winograd>>>()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::Buffer<ffi::F32>>()
                           .Arg<ffi::Buffer<ffi::F32>>()
                           .Ret<ffi::Buffer<ffi::F32>>());

}  // namespace

HloInstruction* winograd_call(const WinogradPlan& plan, HloInstruction* input, HloInstruction* weights) {
  register_typed_call<Winograd>(kWinogradTarget, kConvolve);
  const xla::Shape result = xla::ShapeUtil::MakeShapeWithDescendingLayout(
      xla::F32, {plan.batch, plan.rows.out, plan.columns.out, plan.results});
  return input->parent()->AddInstruction(typed_call(kWinogradTarget, result, {input, weights}, plan.text()));
}

}  // namespace hone::xla_side
