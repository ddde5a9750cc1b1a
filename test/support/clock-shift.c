/*
 * Preloaded into a process, moves its wall clock by $CLOCK_SHIFT_MS milliseconds and leaves the
 * monotonic clock alone: a machine whose clock is wrong, without touching the machine's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static const long long NANOS = 1000000000LL;

static long long shift_nanos(void) {
  static long long shift;
  static int known;
  if (!known) {
    const char *ms = getenv("CLOCK_SHIFT_MS");
    shift = ms ? atoll(ms) * 1000000LL : 0;
    known = 1;
  }
  return shift;
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
