#include "decisions/winograd_kernel.h"

#include "decisions/arithmetic.h"
#include "decisions/typed_calls.h"
#include "kernels/winograd.h"
#include "status.h"
#include "xla/ffi/ffi_api.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

namespace ffi = xla::ffi;
using xla::HloInstruction;

// Made when a program is compiled.
struct WinogradState {
  static ffi::TypeId id;
  WinogradPlan plan;
};
ffi::TypeId WinogradState::id = {};

ffi::ErrorOr<std::unique_ptr<WinogradState>> read_winograd_plan(std::string_view plan) {
  try {
    return std::make_unique<WinogradState>(WinogradState{WinogradPlan::from_text(plan)});
  } catch (const std::exception& error) {
    return ffi::Unexpected(ffi::Error::Internal(error.what()));
  }
}

ffi::Error convolve(WinogradState* state, ffi::ThreadPool pool, ffi::Buffer<ffi::F32> input,
                    ffi::Buffer<ffi::F32> weights, ffi::Result<ffi::Buffer<ffi::F32>> result) {
  const WinogradPlan& plan = state->plan;
  const auto holds = [](const auto& buffer, int64_t size) {
    return static_cast<int64_t>(buffer.element_count()) == size;
  };
  if (!holds(input, plan.input_size()) || !holds(weights, plan.weights_size()) || !holds(*result, plan.output_size()))
    return ffi::Error::Internal(
        "the arrays of a convolution by Winograd's method are not of its configuration's sizes");
  try {
    winograd_convolution(plan, input.typed_data(), weights.typed_data(), result->typed_data(),
                         static_cast<int>(pool.num_threads()),
                         [&](size_t count, const std::function<void(size_t)>& work) { in_pool(pool, count, work); });
    return ffi::Error::Success();
  } catch (const std::exception& error) {
    return ffi::Error::Internal(error.what());
  }
}

XLA_FFI_DEFINE_HANDLER(kReadWinogradPlan, read_winograd_plan,
                       ffi::Ffi::BindInstantiate().Attr<std::string_view>("plan"));
XLA_FFI_DEFINE_HANDLER(kConvolve, convolve,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::State<WinogradState>>()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::Buffer<ffi::F32>>()
                           .Arg<ffi::Buffer<ffi::F32>>()
                           .Ret<ffi::Buffer<ffi::F32>>());

void register_winograd() {
  [[maybe_unused]] static const bool registered = [] {
    const XLA_FFI_Api* api = ffi::GetXlaFfiApi();
    static const ffi::TypeInfo type = ffi::MakeTypeInfo<WinogradState>();
    ffi::Ffi::RegisterTypeId(api, "hone.WinogradState", &WinogradState::id, &type);
    ffi::Ffi::RegisterStaticHandler(api, kWinogradTarget, "Host", {kReadWinogradPlan, nullptr, nullptr, kConvolve});
    return true;
  }();
}

}  // namespace

HloInstruction* winograd_call(const WinogradPlan& plan, HloInstruction* input, HloInstruction* weights) {
  register_winograd();
  const std::vector<xla::Shape> shapes = {in_order(input->shape()), in_order(weights->shape())};
  const xla::Shape result = xla::ShapeUtil::MakeShapeWithDescendingLayout(
      xla::F32, {plan.batch, plan.rows.out, plan.columns.out, plan.results});
  return input->parent()->AddInstruction(
      HloInstruction::CreateCustomCall(result, {input, weights}, kWinogradTarget, shapes, plan_attribute(plan.text()),
                                       xla::CustomCallApiVersion::API_VERSION_TYPED_FFI));
}

}  // namespace hone::xla_side
