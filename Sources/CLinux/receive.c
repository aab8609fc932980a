#define _GNU_SOURCE
#include "CLinux.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { limit = 64 };

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

_Static_assert(sizeof(struct sockaddr_storage) == sizeof(((struct clinux_datagram *)0)->origin),
               "an origin must hold any address");

// Room for SCM_TIMESTAMPNS and UDP_GRO.
union control {
  char bytes[CMSG_SPACE(sizeof(struct timespec)) + CMSG_SPACE(sizeof(int))];
  struct cmsghdr alignment;
};

static int64_t nanoseconds(struct timespec time) {
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void note(struct msghdr *message, struct clinux_datagram *datagram) {
  datagram->time = 0;
  datagram->segment = 0;
  for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPNS) {
      struct timespec time;
      memcpy(&time, CMSG_DATA(part), sizeof time);
      datagram->time = nanoseconds(time);
    } else if (part->cmsg_level == IPPROTO_UDP && part->cmsg_type == UDP_GRO) {
      int segment;
      memcpy(&segment, CMSG_DATA(part), sizeof segment);
      datagram->segment = segment > 0 ? (unsigned int)segment : 0;
    }
  }
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
    note(&messages[i].msg_hdr, &datagrams[i]);
  }
  return received;
}
