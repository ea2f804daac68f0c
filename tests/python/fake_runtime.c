// A runtime without a compiler, for the tests of the Python side: the program of a folder is result = scale * x + w on
// f32[n]. The folder's fake.txt holds "n scale w_is_weight"; where there is a
// fake_warning.txt, the program does not run as tuned, and this says why. Says what it was given through the fake_ functions.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xla/service/runtime_api.h"

typedef struct {
  int n, w_is_weight;
  char warning[256];
  float scale;
  float* w;
} Program;

static char error[256];
static const void* last_inputs[2];
static int weights_set, programs, unkept;

HONE_API const void* fake_last_input(int i) { return last_inputs[i]; }
HONE_API int fake_weights_set(void) { return weights_set; }
HONE_API int fake_unkept(void) { return unkept; }
HONE_API int fake_programs(void) { return programs; }

const char* hone_last_error(void) { return error; }

static int fail(const char* why) {
  snprintf(error, sizeof error, "%s", why);
  return -1;
}

static Program* load(const char* package_dir, int with_weights) {
  char path[4096];
  snprintf(path, sizeof path, "%s/fake.txt", package_dir);
  FILE* file = fopen(path, "r");
  Program* p = calloc(1, sizeof *p);
  int read = file ? fscanf(file, "%d %f %d", &p->n, &p->scale, &p->w_is_weight) : 0;
  if (file) fclose(file);
  if (read != 3) {
    free(p);
    fail("no fake program there");
    return NULL;
  }
  snprintf(path, sizeof path, "%s/fake_warning.txt", package_dir);
  file = fopen(path, "r");
  if (file && !fgets(p->warning, sizeof p->warning, file)) p->warning[0] = 0;
  if (file) fclose(file);
  p->w_is_weight &= with_weights;
  ++programs;
  return p;
}

void* hone_program_load(const char* package_dir, int threads) { return load(package_dir, 1); }
void* hone_program_load_unkept(const char* package_dir, int threads) {
  ++unkept;
  return load(package_dir, 1);
}
void* hone_program_load_default(const char* package_dir, int threads) { return load(package_dir, 0); }

int hone_program_as_tuned(void* program) { return ((Program*)program)->warning[0] == 0; }
const char* hone_program_warning(void* program) { return ((Program*)program)->warning; }

void hone_program_free(void* program) {
  if (program == NULL) return;
  free(((Program*)program)->w);
  free(program);
  --programs;
}

int hone_program_num_inputs(void* program) { return 2; }
int hone_program_num_outputs(void* program) { return 1; }

int hone_program_output_info(void* program, int i, int* type, int* rank, int64_t* dims) {
  if (i != 0) return fail("no such output");
  *type = 11;  // F32
  *rank = 1;
  dims[0] = ((Program*)program)->n;
  return 0;
}

int hone_program_input_info(void* program, int i, int* type, int* rank, int64_t* dims) {
  return i == 1 ? hone_program_output_info(program, 0, type, rank, dims)
                : hone_program_output_info(program, i, type, rank, dims);
}

int hone_program_input_is_weight(void* program, int i) { return i == 1 && ((Program*)program)->w_is_weight; }

int hone_program_set_weight(void* program, int i, const void* data) {
  Program* p = program;
  if (!hone_program_input_is_weight(program, i)) return fail("not a weight");
  if (p->w == NULL) p->w = malloc(p->n * sizeof(float));
  memcpy(p->w, data, p->n * sizeof(float));
  ++weights_set;
  return 0;
}

int hone_program_run(void* program, const void* const* inputs, void* const* outputs) {
  Program* p = program;
  memcpy(last_inputs, inputs, sizeof last_inputs);
  const float* x = inputs[0];
  const float* w = p->w_is_weight ? p->w : inputs[1];
  if (w == NULL) return fail("weight 1 was never set");
  float* out = outputs[0];
  for (int i = 0; i < p->n; ++i) out[i] = p->scale * x[i] + w[i];
  return 0;
}
