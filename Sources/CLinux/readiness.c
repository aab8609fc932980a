#define _GNU_SOURCE
#include "CLinux.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { limit = 64 };

int clinux_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int clinux_readiness_open(void) { return epoll_create1(EPOLL_CLOEXEC); }

int clinux_readiness_add(int set, int descriptor, uint64_t number) {
  // Errors are always reported.
  struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = number};
  return epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event);
}

void clinux_readiness_remove(int set, int descriptor) {
  epoll_ctl(set, EPOLL_CTL_DEL, descriptor, NULL);
}

int clinux_readiness_wait(int set, uint64_t *numbers, int count) {
  struct epoll_event events[limit];
  int ready = epoll_wait(set, events, count < limit ? count : limit, -1);
  for (int i = 0; i < ready; i++) numbers[i] = events[i].data.u64;
  return ready < 0 ? 0 : ready;
}
