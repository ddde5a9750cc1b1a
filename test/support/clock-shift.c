/*
 * Preloaded into a process, moves its wall clock and leaves the monotonic clock alone: a machine whose
 * clock is wrong, without touching the machine's. By $CLOCK_SHIFT_MS milliseconds for good, or by what
 * the file $CLOCK_SHIFT_FILE holds at the moment (64 bits, native order, milliseconds): a clock that steps.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const long long NANOS = 1000000000LL;

static volatile long long *live_shift(const char *path) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) abort();
  void *page = mmap(NULL, sizeof(long long), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (page == MAP_FAILED) abort();
  return page;
}

static long long shift_nanos(void) {
  static long long fixed;
  static volatile long long *live;
  static int known;
  if (!known) {
    const char *ms = getenv("CLOCK_SHIFT_MS");
    const char *path = getenv("CLOCK_SHIFT_FILE");
    fixed = ms ? atoll(ms) * 1000000LL : 0;
    if (path) live = live_shift(path);
    known = 1;
  }
  return fixed + (live ? *live * 1000000LL : 0);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int failed = real(clock, now);
  if (failed || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
  long long nanos = now->tv_sec * NANOS + now->tv_nsec + shift_nanos();
  now->tv_sec = nanos / NANOS;
  now->tv_nsec = nanos % NANOS;
  return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec exact;
  if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *now) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (now) *now = exact.tv_sec;
  return exact.tv_sec;
}
