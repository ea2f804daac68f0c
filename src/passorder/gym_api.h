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

/* mask: [actions], 0 for passes known to leave the state as it is (PassEnvOptions::probe_masks). */
HONE_GYM_API int hone_env_mask(hone_env* env, uint8_t* mask);

/* The state of the episode as JSON (PassEnv::save), and its continuation, also in another process; costs and values as of a reset. */
HONE_GYM_API const char* hone_env_save(hone_env* env);
HONE_GYM_API int hone_env_restore(hone_env* env, const char* state, float* values, float* costs);
HONE_GYM_API const char* hone_env_episode(hone_env* env); /* so far, as JSON that hone gym replay reads */

/* The graph of the last observation; sizes are 0 without one. opcodes [nodes], features [nodes, node_width], edges
   [edges, 2]: producer, user. */
HONE_GYM_API void hone_env_graph_size(hone_env* env, int64_t* nodes, int64_t* edges);
HONE_GYM_API void hone_env_graph(hone_env* env, uint8_t* opcodes, float* features, int32_t* edges);

/* Several environments without graphs that are stepped together; in the step in which an episode ends the next one begins
   (VectorEnvironment). Arrays have one row per environment. */
typedef struct hone_vec hone_vec;

/* options: as of hone_env_make, with "count" (environments) and "workers" (processes that run XLA, at most "count"). */
HONE_GYM_API hone_vec* hone_vec_make(const char* options);
HONE_GYM_API void hone_vec_free(hone_vec* vec);
HONE_GYM_API const char* hone_vec_spec(hone_vec* vec); /* of each environment, as hone_env_spec without counters */
HONE_GYM_API int hone_vec_reset(hone_vec* vec, uint64_t seed, float* values, float* costs);
/* actions: [count], each below the number of actions, else no environment steps; rewards: [count]; flags: [count], as of hone_env_step. last_values and last_costs get the last
   observations of the episodes that ended. */
HONE_GYM_API int hone_vec_step(hone_vec* vec, const int64_t* actions, float* values, float* costs, double* rewards,
                               int* flags, float* last_values, float* last_costs);
HONE_GYM_API const char* hone_vec_info(hone_vec* vec, int64_t index);      /* of the present state */
HONE_GYM_API const char* hone_vec_last_info(hone_vec* vec, int64_t index); /* of the state in which the episode ended */
HONE_GYM_API int hone_vec_mask(hone_vec* vec, uint8_t* mask);              /* [count, actions] */
/* The passes, the programs, the seed, and the episode, actions and fingerprint of each environment, as JSON; restoring
   compares them and replays the actions. */
HONE_GYM_API const char* hone_vec_save(hone_vec* vec);
HONE_GYM_API int hone_vec_restore(hone_vec* vec, const char* state, float* values, float* costs);

#ifdef __cplusplus
}
#endif
#endif
