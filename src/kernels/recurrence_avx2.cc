#define HONE_LANES 8
#define HONE_ROWS 6
#define HONE_KERNEL kRecurrenceAvx2
#include "kernels/recurrence_loops.h"
