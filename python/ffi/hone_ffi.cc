// The handler through which JAX programs call tuned ones (XLA's FFI, jaxlib's header-only API). It passes the addresses
// of JAX's buffers to hone_program_run. A call names its program by a key, since JAX keeps compiled calls on disk and
// addresses are of one process; hone_ffi_register says which program of this process that is. A program is freed when
// Python has released it and no compiled JAX code holds it any more. Links to neither XLA nor the runtime.
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

using Run = int (*)(void* program, const void* const* inputs, void* const* outputs);
using LastError = const char* (*)();
using Free = void (*)(void* program);

// Functions are of the runtime that owns `program`.
struct Target {
  Target(Run run, LastError last_error, Free free, void* program)
      : run(run), last_error(last_error), free(free), program(program) {}
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target() { free(program); }
  Run run;
  LastError last_error;
  Free free;
  void* program;
};

std::shared_mutex mutex;  // of `targets`
std::unordered_map<int64_t, std::shared_ptr<Target>> targets;

std::shared_ptr<Target> find(int64_t key) {
  std::shared_lock lock(mutex);
  auto found = targets.find(key);
  return found == targets.end() ? nullptr : found->second;
}

// What one compiled call has from its compilation to its end; JAX code that waits to run keeps it.
struct CompiledCall {
  static ffi::TypeId id;
  std::shared_ptr<Target> target;  // null: its program was not loaded then
};
ffi::TypeId CompiledCall::id = {};

ffi::ErrorOr<std::unique_ptr<CompiledCall>> compile_call(int64_t key, int64_t, ffi::Span<const int64_t>) {
  auto call = std::make_unique<CompiledCall>();
  call->target = find(key);
  return call;
}

// `key`: of the program. `inputs`: the number of its inputs. `positions`: the input of each argument; the other inputs are
// weights set before.
ffi::Error call_program(ffi::RemainingArgs arguments, ffi::RemainingRets results, CompiledCall* call, int64_t key,
                        int64_t inputs, ffi::Span<const int64_t> positions) {
  const std::shared_ptr<Target> target = call != nullptr && call->target ? call->target : find(key);
  if (!target) return ffi::Error(ffi::ErrorCode::kNotFound, "hone: the program is not loaded in this process");
  if (positions.size() != arguments.size()) return ffi::Error::InvalidArgument("hone: wrong number of arguments");
  std::vector<const void*> in(inputs, nullptr);
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto buffer = arguments.get<ffi::AnyBuffer>(i);
    if (buffer.has_error()) return buffer.error();
    if (positions[i] < 0 || positions[i] >= inputs) return ffi::Error::InvalidArgument("hone: no such input");
    in[positions[i]] = buffer->untyped_data();
  }
  std::vector<void*> out;
  for (size_t i = 0; i < results.size(); ++i) {
    auto buffer = results.get<ffi::AnyBuffer>(i);
    if (buffer.has_error()) return buffer.error();
    out.push_back((*buffer)->untyped_data());
  }
  if (target->run(target->program, in.data(), out.data()) == 0) return ffi::Error::Success();
  return ffi::Error::Internal(target->last_error());
}

}  // namespace

#define HONE_FFI_EXPORT extern "C" __attribute__((visibility("default")))

HONE_FFI_EXPORT XLA_FFI_Error* hone_ffi_compile(XLA_FFI_CallFrame* frame);
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    hone_ffi_compile, compile_call,
    ffi::Ffi::BindInstantiate().Attr<int64_t>("program").Attr<int64_t>("inputs").Attr<ffi::Span<const int64_t>>(
        "positions"));

HONE_FFI_EXPORT XLA_FFI_Error* hone_ffi_call(XLA_FFI_CallFrame* frame);
XLA_FFI_DEFINE_HANDLER_SYMBOL(hone_ffi_call, call_program,
                              ffi::Ffi::Bind()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Ctx<ffi::State<CompiledCall>>()
                                  .Attr<int64_t>("program")
                                  .Attr<int64_t>("inputs")
                                  .Attr<ffi::Span<const int64_t>>("positions"));

// For jax.ffi.register_ffi_type.
HONE_FFI_EXPORT void* hone_ffi_type_id() { return &CompiledCall::id; }
HONE_FFI_EXPORT const void* hone_ffi_type_info() {
  static const XLA_FFI_TypeInfo info = ffi::MakeTypeInfo<CompiledCall>();
  return &info;
}

// Calls with the key `key` run `program` from now on, by `run`; `last_error` says why one failed. Takes the program over:
// it ends by `free`, after hone_ffi_release.
HONE_FFI_EXPORT void hone_ffi_register(int64_t key, void* run, void* last_error, void* free, void* program) {
  auto target = std::make_shared<Target>(reinterpret_cast<Run>(run), reinterpret_cast<LastError>(last_error),
                                         reinterpret_cast<Free>(free), program);
  std::unique_lock lock(mutex);
  targets[key] = std::move(target);
}

// Code that is compiled later finds no program under this key.
HONE_FFI_EXPORT void hone_ffi_release(int64_t key) {
  std::shared_ptr<Target> last;  // freed without the lock
  std::unique_lock lock(mutex);
  auto found = targets.find(key);
  if (found == targets.end()) return;
  last = std::move(found->second);
  targets.erase(found);
  lock.unlock();
}

// How many programs are registered, for tests.
HONE_FFI_EXPORT int64_t hone_ffi_registered() {
  std::shared_lock lock(mutex);
  return static_cast<int64_t>(targets.size());
}
