#define HONE_LANES 16
#define HONE_ROWS 12
#define HONE_KERNEL kWinogradAvx512
#include "kernels/winograd_loops.h"
