#define _GNU_SOURCE
#include "CLinux.h"

#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { limit = 64 };

_Static_assert(sizeof(struct sockaddr_storage) == sizeof(((struct clinux_datagram *)0)->origin),
               "an origin must hold any address");

// Room for SCM_TIMESTAMPNS.
union control {
  char bytes[CMSG_SPACE(sizeof(struct timespec))];
  struct cmsghdr alignment;
};

static int64_t nanoseconds(struct timespec time) {
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t arrival(struct msghdr *message) {
  for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
    struct timespec time;
    memcpy(&time, CMSG_DATA(part), sizeof time);
    return nanoseconds(time);
  }
  return 0;
}

int64_t clinux_universal_time(void) {
  struct timespec now;
  return clock_gettime(CLOCK_REALTIME, &now) == 0 ? nanoseconds(now) : 0;
}

int clinux_receive(int descriptor, void *storage, size_t slot, struct clinux_datagram *datagrams,
                     unsigned int count) {
  struct mmsghdr messages[limit];
  struct iovec vectors[limit];
  union control controls[limit];
  if (count > limit) count = limit;
  memset(messages, 0, count * sizeof *messages);
  for (unsigned int i = 0; i < count; i++) {
    vectors[i].iov_base = (char *)storage + i * slot;
    vectors[i].iov_len = slot;
    messages[i].msg_hdr.msg_iov = &vectors[i];
    messages[i].msg_hdr.msg_iovlen = 1;
    messages[i].msg_hdr.msg_control = &controls[i];
    messages[i].msg_hdr.msg_controllen = sizeof controls[i];
    messages[i].msg_hdr.msg_name = datagrams[i].origin;
    messages[i].msg_hdr.msg_namelen = sizeof datagrams[i].origin;
  }
  int received = recvmmsg(descriptor, messages, count, MSG_DONTWAIT, NULL);
  for (int i = 0; i < received; i++) {
    datagrams[i].length = messages[i].msg_len;
    datagrams[i].time = arrival(&messages[i].msg_hdr);
  }
  return received;
}
