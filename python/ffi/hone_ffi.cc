// The handler through which JAX programs call tuned ones (XLA's FFI, jaxlib's header-only API). It passes the addresses
// of JAX's buffers to hone_program_run. Every address it needs is an attribute of the call, so it has no state and
// links to neither XLA nor the runtime.
#include <cstdint>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

using Run = int (*)(void* program, const void* const* inputs, void* const* outputs);
using LastError = const char* (*)();

// `run`, `last_error`: hone_program_run and hone_last_error of the runtime that owns the handle `program`. `inputs`:
// the number of the program's inputs. `positions`: the input of each argument; the other inputs are weights set
// before.
ffi::Error call_program(ffi::RemainingArgs arguments, ffi::RemainingRets results, int64_t run, int64_t last_error,
                        int64_t program, int64_t inputs, ffi::Span<const int64_t> positions) {
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
  if (reinterpret_cast<Run>(run)(reinterpret_cast<void*>(program), in.data(), out.data()) == 0)
    return ffi::Error::Success();
  return ffi::Error::Internal(reinterpret_cast<LastError>(last_error)());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* hone_ffi_call(XLA_FFI_CallFrame* frame);
XLA_FFI_DEFINE_HANDLER_SYMBOL(hone_ffi_call, call_program,
                              ffi::Ffi::Bind()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<int64_t>("run")
                                  .Attr<int64_t>("last_error")
                                  .Attr<int64_t>("program")
                                  .Attr<int64_t>("inputs")
                                  .Attr<ffi::Span<const int64_t>>("positions"));
