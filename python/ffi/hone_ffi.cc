// The handler through which JAX programs call tuned ones (XLA's FFI, jaxlib's header-only API). It passes the addresses
// of JAX's buffers to hone_program_run. A call names its program by a key, since JAX keeps compiled calls on disk and
// addresses are of one process; hone_ffi_register says which program of this process that is. Links to neither XLA nor
// the runtime.
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

using Run = int (*)(void* program, const void* const* inputs, void* const* outputs);
using LastError = const char* (*)();

struct Target {
  Run run = nullptr;  // hone_program_run of the runtime that owns `program`
  LastError last_error = nullptr;
  void* program = nullptr;
};

std::shared_mutex mutex;  // of `targets`
std::unordered_map<int64_t, Target> targets;

Target find(int64_t key) {
  std::shared_lock lock(mutex);
  auto found = targets.find(key);
  return found == targets.end() ? Target() : found->second;
}

// `key`: of the program. `inputs`: the number of its inputs. `positions`: the input of each argument; the other inputs are
// weights set before.
ffi::Error call_program(ffi::RemainingArgs arguments, ffi::RemainingRets results, int64_t key, int64_t inputs,
                        ffi::Span<const int64_t> positions) {
  const Target target = find(key);
  if (target.run == nullptr)
    return ffi::Error(ffi::ErrorCode::kNotFound, "hone: the program is not loaded in this process");
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
  if (target.run(target.program, in.data(), out.data()) == 0) return ffi::Error::Success();
  return ffi::Error::Internal(target.last_error());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* hone_ffi_call(XLA_FFI_CallFrame* frame);
XLA_FFI_DEFINE_HANDLER_SYMBOL(hone_ffi_call, call_program,
                              ffi::Ffi::Bind()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<int64_t>("program")
                                  .Attr<int64_t>("inputs")
                                  .Attr<ffi::Span<const int64_t>>("positions"));

// Calls with the key `key` run `program` from now on, by `run`; `last_error` says why one failed.
extern "C" __attribute__((visibility("default"))) void hone_ffi_register(int64_t key, void* run, void* last_error,
                                                                         void* program) {
  std::unique_lock lock(mutex);
  targets[key] = {reinterpret_cast<Run>(run), reinterpret_cast<LastError>(last_error), program};
}
