#define HONE_LANES 4
#define HONE_ROWS 6
#define HONE_KERNEL kWinogradPortable
#include "kernels/winograd_loops.h"
