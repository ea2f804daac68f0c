#define HONE_LANES 8
#define HONE_ROWS 6
#define HONE_KERNEL kAttentionAvx2
#include "kernels/attention_loops.h"
