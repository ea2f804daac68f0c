#define HONE_LANES 16
#define HONE_ROWS 12
#define HONE_KERNEL kRecurrenceAvx512
#include "kernels/recurrence_loops.h"
