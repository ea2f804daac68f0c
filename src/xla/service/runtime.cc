// libhone_runtime.so: tuned programs inside a user's process (see runtime_api.h).
#include "service/runtime_api.h"
#include "service/runtime_program.h"
#include "status.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

thread_local std::string last_error, last_warning;

// Runs f; an exception becomes the last error and `failed`.
template <class F, class R>
R guarded(R failed, F f) {
  try {
    return f();
  } catch (const std::exception& e) {
    last_error = e.what();
    return failed;
  }
}

RuntimeProgram& program_of(void* handle) {
  if (handle == nullptr) throw Error("the program handle is null");
  return *static_cast<RuntimeProgram*>(handle);
}

void* load(const char* folder, int threads, bool tuned, bool keep_code = true) {
  return guarded(static_cast<void*>(nullptr),
                 [&]() -> void* { return new RuntimeProgram(folder, threads, tuned, keep_code); });
}

int describe(const std::vector<xla::Shape>& shapes, int i, int* type, int* rank, int64_t* dims) {
  if (i < 0 || i >= static_cast<int>(shapes.size())) throw Error("there is no array " + std::to_string(i));
  const auto dimensions = shapes[i].dimensions();
  if (dimensions.size() > HONE_MAX_RANK) throw Error("rank above " + std::to_string(HONE_MAX_RANK));
  *type = shapes[i].element_type();
  *rank = dimensions.size();
  std::copy(dimensions.begin(), dimensions.end(), dims);
  return 0;
}

}  // namespace
}  // namespace hone::xla_side

using namespace hone::xla_side;

extern "C" {

const char* hone_last_error(void) { return last_error.c_str(); }
void* hone_program_load(const char* folder, int threads) { return load(folder, threads, true); }
void* hone_program_load_unkept(const char* folder, int threads) { return load(folder, threads, true, false); }
void* hone_program_load_default(const char* folder, int threads) { return load(folder, threads, false); }
void hone_program_free(void* handle) { delete static_cast<RuntimeProgram*>(handle); }
int hone_program_num_inputs(void* handle) {
  return guarded(-1, [&] { return static_cast<int>(program_of(handle).inputs().size()); });
}
int hone_program_num_outputs(void* handle) {
  return guarded(-1, [&] { return static_cast<int>(program_of(handle).outputs().size()); });
}
int hone_program_input_info(void* handle, int i, int* type, int* rank, int64_t* dims) {
  return guarded(-1, [&] { return describe(program_of(handle).inputs(), i, type, rank, dims); });
}
int hone_program_output_info(void* handle, int i, int* type, int* rank, int64_t* dims) {
  return guarded(-1, [&] { return describe(program_of(handle).outputs(), i, type, rank, dims); });
}
int hone_program_input_is_weight(void* handle, int i) {
  return guarded(-1, [&] { return static_cast<int>(program_of(handle).is_weight(i)); });
}
int hone_program_as_tuned(void* handle) {
  return guarded(-1, [&] { return static_cast<int>(program_of(handle).as_tuned()); });
}
const char* hone_program_warning(void* handle) {
  return guarded(static_cast<const char*>(nullptr), [&] {
    last_warning = program_of(handle).warning();
    return last_warning.c_str();
  });
}
int hone_program_set_weight(void* handle, int i, const void* data) {
  return guarded(-1, [&] {
    program_of(handle).set_weight(i, data);
    return 0;
  });
}
int hone_program_run(void* handle, const void* const* inputs, void* const* outputs) {
  return guarded(-1, [&] {
    program_of(handle).run(inputs, outputs);
    return 0;
  });
}

}  // extern "C"
