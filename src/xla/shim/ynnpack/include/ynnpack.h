// The wheel does not ship this header; XLA's headers only need these types to be opaque.
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ynn_subgraph* ynn_subgraph_t;
typedef struct ynn_runtime* ynn_runtime_t;
typedef struct ynn_threadpool* ynn_threadpool_t;
enum ynn_status {
  ynn_status_success,
  ynn_status_deprecated,
  ynn_status_error,
  ynn_status_invalid_parameter,
  ynn_status_unsupported_parameter
};
enum ynn_type { ynn_type_invalid };
enum ynn_reduce_operator { ynn_reduce_invalid_ };
enum ynn_unary_operator { ynn_unary_invalid_ };
enum ynn_binary_operator { ynn_binary_invalid_ };
void ynn_delete_subgraph(ynn_subgraph_t);
void ynn_delete_runtime(ynn_runtime_t);
void ynn_delete_threadpool(ynn_threadpool_t);
#ifdef __cplusplus
}
#endif
