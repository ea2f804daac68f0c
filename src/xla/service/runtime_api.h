// The C interface of libhone_runtime.so: runs tuned programs inside a user's process. Plain C, no XLA types.
//
// Arrays are dense and row-major; element types are XLA's PrimitiveType numbers (F32 = 11, BF16 = 16, ...). Functions
// that can fail return NULL, a negative number or a non-zero number, as documented below; hone_last_error() gives the
// reason. Handles may be used from several threads; runs of one handle go side by side, each in memory of its own, or take turns
// where the program has weights that libraries pack or kernels of Hone's own.
#pragma once

#include <stdint.h>

#define HONE_API __attribute__((visibility("default")))
#define HONE_MAX_RANK 16

#ifdef __cplusplus
extern "C" {
#endif

// Why the last call of this thread failed, one line; empty if none did. Valid until this thread's next call.
HONE_API const char* hone_last_error(void);

// Compiles the program of a NAME.hone folder under its tuned decisions, for `threads` threads (at least 1). NULL on
// error. Where this machine or XLA is not what the package was made for, default XLA's program is loaded in its place: see
// hone_program_as_tuned. Machine code is kept in the user's cache folder, and found there by later loads.
HONE_API void* hone_program_load(const char* package_dir, int threads);
// The same, but machine code is neither kept nor found there.
HONE_API void* hone_program_load_unkept(const char* package_dir, int threads);
// The same program as default XLA compiles it, for comparisons. It declares no weights but those that the program stores as bytes
// (--precision int8-weights): they are set once, as in the tuned program.
HONE_API void* hone_program_load_default(const char* package_dir, int threads);
// Frees a handle; no run may be in progress. NULL is allowed.
HONE_API void hone_program_free(void* program);

// 1 if the program runs under its tuned decisions, 0 if default XLA runs in its place, negative on error.
HONE_API int hone_program_as_tuned(void* program);
// What differs from where the package was made, and decisions that match nothing in the program, as one line; empty without any, NULL
// on error. Where weights are folded into the program, decisions are known after the first run, also to
// hone_program_as_tuned. Valid until this thread's next call.
HONE_API const char* hone_program_warning(void* program);

// Negative on error. A program that returns a tuple has one output for each of its leaves.
HONE_API int hone_program_num_inputs(void* program);
HONE_API int hone_program_num_outputs(void* program);

// Type, rank and sizes of input or output i; `dims` has room for HONE_MAX_RANK sizes. Shapes are those of the program
// as the user gave it, whatever layout the tuned one prefers. 0, or non-zero on error.
HONE_API int hone_program_input_info(void* program, int i, int* type, int* rank, int64_t* dims);
HONE_API int hone_program_output_info(void* program, int i, int* type, int* rank, int64_t* dims);

// 1 if input i was declared constant between calls, 0 if not, negative on error. Weights must be set before the first
// run, including those that the tuned program stores unchanged.
HONE_API int hone_program_input_is_weight(void* program, int i);
// Copies weight i in the form the tuned program needs (transposed, folded); `data` may be freed afterwards.
// May be called again with other values, at the same cost. 0, or non-zero on error.
HONE_API int hone_program_set_weight(void* program, int i, const void* data);

// Runs the program and waits for it. `inputs` has one pointer per input; those of weights are not read and may be NULL.
// Inputs aligned to 64 bytes are used in place, others are copied; neither is written to. `outputs` has one pointer per
// output, each with room for the whole array, which overlaps no input. Results are written straight into memory that is
// aligned to 64 bytes; copied into other memory, and where the program returns an input, a constant or one array twice,
// or writes a result into a donated input. 0, or non-zero on error, after which they are undefined.
HONE_API int hone_program_run(void* program, const void* const* inputs, void* const* outputs);

#ifdef __cplusplus
}
#endif
