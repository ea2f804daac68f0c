#define HONE_LANES 16
#define HONE_ROWS 12
#define HONE_KERNEL kAttentionAvx512
#include "kernels/attention_loops.h"
