#define HONE_LANES 4
#define HONE_ROWS 6
#define HONE_KERNEL kRecurrencePortable
#include "kernels/recurrence_loops.h"
