#include "service/lapack_calls.h"

#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "base/error.h"
#include "decisions/lower.h"
#include "kernels/lapack_call.h"
#include "xla/ffi/api/ffi.h"
#include "xla/ffi/ffi_api.h"
#include "xla/service/custom_call_target_registry.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

namespace ffi = xla::ffi;

constexpr char kPlatform[] = "Host";
constexpr size_t kRoutines = 61;

LapackType lapack_type(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::F32:
      return LapackType::F32;
    case ffi::DataType::F64:
      return LapackType::F64;
    case ffi::DataType::C64:
      return LapackType::C64;
    case ffi::DataType::C128:
      return LapackType::C128;
    case ffi::DataType::S32:
      return LapackType::S32;
    default:
      return LapackType::Other;
  }
}

LapackArray array_of(const ffi::AnyBuffer& buffer) {
  const auto dims = buffer.dimensions();
  return {buffer.untyped_data(), lapack_type(buffer.element_type()), {dims.begin(), dims.end()}};
}

// Letters, truths and sizes.
int64_t attribute_of(const ffi::Dictionary& attributes, std::string_view name) {
  if (attributes.contains<uint8_t>(name)) return *attributes.get<uint8_t>(name);
  if (attributes.contains<bool>(name)) return *attributes.get<bool>(name);
  if (attributes.contains<int32_t>(name)) return *attributes.get<int32_t>(name);
  throw Error("a call of LAPACK has no attribute '" + std::string(name) + "'");
}

// The routine of one row of the table.
struct Run {
  size_t row;

  ffi::Error operator()(ffi::ThreadPool pool, ffi::RemainingArgs arguments, ffi::RemainingRets results,
                        ffi::Dictionary attributes) const {
    const LapackRoutine& routine = lapack_routines()[row];
    try {
      LapackCall call;
      for (size_t i = 0; i < arguments.size(); ++i)
        call.arguments.push_back(array_of(*arguments.get<ffi::AnyBuffer>(i)));
      for (size_t i = 0; i < results.size(); ++i) call.results.push_back(array_of(**results.get<ffi::AnyBuffer>(i)));
      call.attribute = [&](std::string_view name) { return attribute_of(attributes, name); };
      if (!routine.needs_library) {
        routine.run(call);
        return ffi::Error::Success();
      }
      call.library = lapack_library();
      if (call.library == nullptr) throw Error("no library of LAPACK is installed");
      const LapackThreads threads(*call.library, std::max<int64_t>(pool.num_threads(), 1));
      routine.run(call);
      return ffi::Error::Success();
    } catch (const std::exception& error) {
      return ffi::Error::Internal(routine.target + ": " + error.what());
    }
  }
};

template <size_t row>
XLA_FFI_Error* handle(XLA_FFI_CallFrame* frame) {
  static auto* const handler =
      ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().RemainingArgs().RemainingRets().Attrs().To(Run{row}).release();
  return handler->Call(frame);
}

template <size_t... rows>
constexpr std::array<XLA_FFI_Handler*, sizeof...(rows)> handlers(std::index_sequence<rows...>) {
  return {handle<rows>...};
}

bool is_lapack(const std::string& target) {
  return std::any_of(lapack_routines().begin(), lapack_routines().end(),
                     [&](const LapackRoutine& routine) { return routine.target == target && routine.needs_library; });
}

// Calls that XLA makes and compiles by itself.
bool is_of_xla(const std::string& target) {
  const bool of_gpu = absl::StartsWith(target, "__cu") || absl::StartsWith(target, "__triton");  // of dumps from there
  return target == "PadToStatic" || target == "SliceToDynamic" || target == "TopK" ||
         (absl::StartsWith(target, "__") && !of_gpu);
}

bool has_handler(const xla::HloInstruction& call) {
  const std::string& target = call.custom_call_target();
  if (is_of_xla(target)) return true;
  if (is_lapack(target)) return lapack_library() != nullptr;
  return ffi::FindHandler(target, kPlatform).ok() ||
         xla::CustomCallTargetRegistry::Global()->Lookup(target, kPlatform) != nullptr;
}

std::map<std::string, int64_t> unknown_calls(const xla::HloModule& module) {
  std::map<std::string, int64_t> unknown;
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions())
      if (instruction->opcode() == xla::HloOpcode::kCustomCall && !has_handler(*instruction))
        ++unknown[instruction->custom_call_target()];
  return unknown;
}

}  // namespace

void register_lapack_calls() {
  [[maybe_unused]] static const bool once = [] {
    if (lapack_routines().size() != kRoutines)
      throw InternalError("register_lapack_calls: not every routine has a handler");
    const auto all = handlers(std::make_index_sequence<kRoutines>());
    for (size_t i = 0; i < kRoutines; ++i)
      ffi::Ffi::RegisterStaticHandler(ffi::GetXlaFfiApi(), lapack_routines()[i].target, kPlatform, all[i]);
    return true;
  }();
}

std::map<std::string, int64_t> calls_without_handler(const xla::HloModule& module) {
  std::map<std::string, int64_t> unknown = unknown_calls(module);
  if (unknown.empty()) return unknown;
  try {
    return unknown_calls(*lower(module, {}, {}).module);
  } catch (const std::exception&) {
    return unknown;  // the passes fail: whoever compiles the program learns why
  }
}

std::string lapack_of(const xla::HloModule& module) {
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions())
      if (instruction->opcode() == xla::HloOpcode::kCustomCall && is_lapack(instruction->custom_call_target())) {
        const LapackLibrary* library = lapack_library();
        return library == nullptr ? "" : library->version_text() + ", " + library->path();
      }
  return "";
}

}  // namespace hone::xla_side
