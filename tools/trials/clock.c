// Shifts the wall clock of one program: LD_PRELOAD this, and RTP_TRIAL_CLOCK names a file of eight
// bytes, the shift in nanoseconds, which may change at any time. The monotonic clock stays. What the
// kernel notes of a datagram's arrival is shifted too, as it would be if the machine's clock were set.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *shift;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("RTP_TRIAL_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *memory = mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED) shift = memory;
  close(file);
}

static void move(struct timespec *time) {
  if (!shift) return;
  int64_t all = time->tv_sec * 1000000000LL + time->tv_nsec + *shift;
  time->tv_sec = all / 1000000000LL;
  time->tv_nsec = all % 1000000000LL;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) move(time);
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}

static void move_arrivals(struct msghdr *message) {
  for (struct cmsghdr *note = CMSG_FIRSTHDR(message); note; note = CMSG_NXTHDR(message, note)) {
    if (note->cmsg_level != SOL_SOCKET || note->cmsg_type != SCM_TIMESTAMPNS) continue;
    struct timespec time;
    memcpy(&time, CMSG_DATA(note), sizeof time);
    move(&time);
    memcpy(CMSG_DATA(note), &time, sizeof time);
  }
}

ssize_t recvmsg(int socket, struct msghdr *message, int flags) {
  ssize_t size = syscall(SYS_recvmsg, socket, message, flags);
  if (size >= 0) move_arrivals(message);
  return size;
}

int recvmmsg(int socket, struct mmsghdr *messages, unsigned count, int flags, struct timespec *limit) {
  int came = (int)syscall(SYS_recvmmsg, socket, messages, count, flags, limit);
  for (int index = 0; index < came; index++) move_arrivals(&messages[index].msg_hdr);
  return came;
}
