/* The environments through C, for Python (python/hone/gym.py): libhone_gym.so. Handles are not thread-safe; different
   handles may be used at once. Functions that can fail return 0 or NULL and leave a JSON object {"kind","message","where",
   "hint"} for hone_gym_error(); kind is "input" (the caller's mistake), "run" or "internal". */
#ifndef HONE_RL_GYM_API_H
#define HONE_RL_GYM_API_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#define HONE_GYM_API __attribute__((visibility("default")))

typedef struct hone_env hone_env;

HONE_GYM_API const char* hone_gym_error(void); /* of the last failure in this thread */

/* options: JSON with "id", "programs", "worker" (path of hone-xla), and fields of PassEnvOptions. */
HONE_GYM_API hone_env* hone_env_make(const char* options);
HONE_GYM_API hone_env* hone_env_clone(hone_env* env);
HONE_GYM_API void hone_env_free(hone_env* env);

/* JSON: {"id","actions":[names],"programs":[names],"observation_width","cost_width","node_width",
   "counters": of the session so far}. Texts are valid until the next call with this handle. */
HONE_GYM_API const char* hone_env_spec(hone_env* env);
HONE_GYM_API const char* hone_env_info(hone_env* env);
HONE_GYM_API const char* hone_env_render(hone_env* env);

/* values: [observation_width] floats or NULL; costs: [cost_width] or NULL. program: empty = the seed chooses. */
HONE_GYM_API int hone_env_reset(hone_env* env, uint64_t seed, const char* program, float* values, float* costs);
/* flags: bit 0 terminated, bit 1 truncated, bit 2 the action failed. */
HONE_GYM_API int hone_env_step(hone_env* env, int64_t action, float* values, float* costs, double* reward, int* flags);

/* The graph of the last observation; sizes are 0 without one. opcodes [nodes], features [nodes, node_width], edges
   [edges, 2]: producer, user. */
HONE_GYM_API void hone_env_graph_size(hone_env* env, int64_t* nodes, int64_t* edges);
HONE_GYM_API void hone_env_graph(hone_env* env, uint8_t* opcodes, float* features, int32_t* edges);

#ifdef __cplusplus
}
#endif
#endif
