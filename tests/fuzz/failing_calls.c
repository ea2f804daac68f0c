// Preloaded into one program: makes one of its system calls on files fail, or that one and all after it.
//
//   HONE_FAIL_PROGRAM  name of the program; other programs that inherit this are left alone
//   HONE_FAIL_UNDER    only calls on files below this folder count
//   HONE_FAIL_AT       number of the call that fails, from 1 on; 0 = none
//   HONE_FAIL_ERRNO    error of that call
//   HONE_FAIL_STICKY   1 = calls that write after it fail, too, as on a full disk
//   HONE_FAIL_COUNT    file to which the number of calls is written at the end, and the name of the one that failed
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static char folder[4096], count_file[4096];
static const char* failed = "none";
static long fail_at;
static int fail_errno, sticky, on;
static atomic_long calls;

__attribute__((constructor)) static void begin(void) {
  const char* program = getenv("HONE_FAIL_PROGRAM");
  const char* under = getenv("HONE_FAIL_UNDER");
  if (program == NULL || under == NULL || strcmp(program, program_invocation_short_name) != 0) return;
  snprintf(folder, sizeof folder, "%s", under);
  const char* value = getenv("HONE_FAIL_COUNT");
  snprintf(count_file, sizeof count_file, "%s", value ? value : "");
  fail_at = (value = getenv("HONE_FAIL_AT")) ? atol(value) : 0;
  fail_errno = (value = getenv("HONE_FAIL_ERRNO")) ? atoi(value) : EIO;
  sticky = (value = getenv("HONE_FAIL_STICKY")) ? atoi(value) : 0;
  on = 1;
}

__attribute__((destructor)) static void end(void) {
  if (!on || count_file[0] == '\0') return;
  on = 0;
  FILE* file = fopen(count_file, "w");
  if (file == NULL) return;
  fprintf(file, "%ld %s\n", atomic_load(&calls), failed);
  fclose(file);
}

static int below(const char* path) {
  char whole[4096];
  if (path[0] != '/') {
    if (getcwd(whole, sizeof whole) == NULL) return 0;
    return strncmp(whole, folder, strlen(folder)) == 0;
  }
  return strncmp(path, folder, strlen(folder)) == 0;
}

static int fd_below(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = '\0';
  return below(path) && path[0] == '/';
}

// Whether this call is to fail.
static int fails(const char* name, int relevant, int writes) {
  if (!on || !relevant) return 0;
  const long number = atomic_fetch_add(&calls, 1) + 1;
  if (fail_at == 0 || !(number == fail_at || (sticky && writes && number > fail_at))) return 0;
  if (number == fail_at) failed = name;
  errno = fail_errno;
  return 1;
}

#define REAL_OF(type, name, parameters) \
  static type(*real) parameters = NULL; \
  if (real == NULL) real = (type(*) parameters)dlsym(RTLD_NEXT, name)

#define OPEN(name) \
  int name(const char* path, int flags, ...) { \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
      va_list rest; \
      va_start(rest, flags); \
      mode = va_arg(rest, mode_t); \
      va_end(rest); \
    } \
    REAL_OF(int, #name, (const char*, int, ...)); \
    if (fails("open", below(path), (flags & O_ACCMODE) != O_RDONLY)) return -1; \
    return real(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

#define ON_FD(type, name, label, writes, parameters, arguments) \
  type name parameters { \
    REAL_OF(type, #name, parameters); \
    if (fails(label, on && fd_below(fd), writes)) return -1; \
    return real arguments; \
  }
ON_FD(ssize_t, write, "write", 1, (int fd, const void* data, size_t size), (fd, data, size))
ON_FD(ssize_t, pwrite, "pwrite", 1, (int fd, const void* data, size_t size, off_t at), (fd, data, size, at))
ON_FD(ssize_t, pwrite64, "pwrite", 1, (int fd, const void* data, size_t size, off64_t at), (fd, data, size, at))
ON_FD(ssize_t, read, "read", 0, (int fd, void* data, size_t size), (fd, data, size))
ON_FD(ssize_t, pread, "pread", 0, (int fd, void* data, size_t size, off_t at), (fd, data, size, at))
ON_FD(ssize_t, pread64, "pread", 0, (int fd, void* data, size_t size, off64_t at), (fd, data, size, at))
ON_FD(int, fsync, "fsync", 1, (int fd), (fd))
ON_FD(int, fdatasync, "fdatasync", 1, (int fd), (fd))
ON_FD(int, ftruncate, "ftruncate", 1, (int fd, off_t size), (fd, size))
ON_FD(int, ftruncate64, "ftruncate", 1, (int fd, off64_t size), (fd, size))

#define ON_PATH(name, writes, parameters, arguments) \
  int name parameters { \
    REAL_OF(int, #name, parameters); \
    if (fails(#name, on && below(path), writes)) return -1; \
    return real arguments; \
  }
ON_PATH(rename, 1, (const char* path, const char* to), (path, to))
ON_PATH(unlink, 0, (const char* path), (path))
ON_PATH(rmdir, 0, (const char* path), (path))
ON_PATH(mkdir, 1, (const char* path, mode_t mode), (path, mode))
ON_PATH(truncate, 1, (const char* path, off_t size), (path, size))
