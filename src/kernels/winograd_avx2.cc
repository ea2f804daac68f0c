#define HONE_LANES 8
#define HONE_ROWS 6
#define HONE_KERNEL kWinogradAvx2
#include "kernels/winograd_loops.h"
