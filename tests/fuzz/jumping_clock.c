// Preloaded into a program and those that it starts: its clocks jump.
//
//   HONE_CLOCK_EVERY    readings of the wall clock between jumps of it; 0 = none
//   HONE_CLOCK_SEED     draws where it jumps to: up to ten years forward or back
//   HONE_CLOCK_FORWARD  seconds by which the steady clock jumps forward, once, as after a machine was moved
//   HONE_CLOCK_AT       reading of the steady clock, in the process that is named by HONE_CLOCK_PROGRAM, before which it does
//   HONE_CLOCK_COUNT    file to which "jumps of the wall clock, readings of the steady one" are written at the end
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static long every, forward, forward_at;
static unsigned long state;
static int named;
static atomic_long wall_readings, steady_readings, jumps, offset;

static long number_of(const char* name) {
  const char* value = getenv(name);
  return value ? atol(value) : 0;
}

__attribute__((constructor)) static void begin(void) {
  const char* program = getenv("HONE_CLOCK_PROGRAM");
  every = number_of("HONE_CLOCK_EVERY");
  forward = number_of("HONE_CLOCK_FORWARD");
  forward_at = number_of("HONE_CLOCK_AT");
  state = (unsigned long)number_of("HONE_CLOCK_SEED") * 2654435761u + 1;
  named = program != NULL && strcmp(program, program_invocation_short_name) == 0;
}

__attribute__((destructor)) static void end(void) {
  const char* path = getenv("HONE_CLOCK_COUNT");
  FILE* file = named && path ? fopen(path, "w") : NULL;
  if (file == NULL) return;
  fprintf(file, "%ld %ld\n", atomic_load(&jumps), atomic_load(&steady_readings));
  fclose(file);
}

// Seconds to add to the wall clock at this reading.
static long wall_offset(void) {
  static const long kFarthest[] = {1, 60, 3600, 86400, 315360000};
  if (every <= 0) return 0;
  if ((atomic_fetch_add(&wall_readings, 1) + 1) % every == 0) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const long farthest = kFarthest[(state >> 33) % 5];
    atomic_store(&offset, (state >> 40) % 2 ? farthest : -farthest);
    atomic_fetch_add(&jumps, 1);
  }
  return atomic_load(&offset);
}

static long steady_offset(void) {
  if (!named) return 0;
  const long reading = atomic_fetch_add(&steady_readings, 1) + 1;
  return forward_at > 0 && reading >= forward_at ? forward : 0;
}

int clock_gettime(clockid_t clock, struct timespec* at) {
  static int (*real)(clockid_t, struct timespec*) = NULL;
  if (real == NULL) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(clock, at);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += wall_offset();
  if (result == 0 && clock == CLOCK_MONOTONIC) at->tv_sec += steady_offset();
  return result;
}

int gettimeofday(struct timeval* restrict at, void* restrict zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to != NULL) *to = now.tv_sec;
  return now.tv_sec;
}
