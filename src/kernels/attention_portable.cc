#define HONE_LANES 4
#define HONE_ROWS 6
#define HONE_KERNEL kAttentionPortable
#include "kernels/attention_loops.h"
