#define _GNU_SOURCE
#include "CLinux.h"

#include <string.h>
#include <sys/socket.h>

enum { limit = 64 };

_Static_assert(sizeof(struct sockaddr_storage) == sizeof(((struct clinux_datagram *)0)->origin),
               "an origin must hold any address");

int clinux_receive(int descriptor, void *storage, size_t slot, struct clinux_datagram *datagrams,
                     unsigned int count) {
  struct mmsghdr messages[limit];
  struct iovec vectors[limit];
  if (count > limit) count = limit;
  memset(messages, 0, count * sizeof *messages);
  for (unsigned int i = 0; i < count; i++) {
    vectors[i].iov_base = (char *)storage + i * slot;
    vectors[i].iov_len = slot;
    messages[i].msg_hdr.msg_iov = &vectors[i];
    messages[i].msg_hdr.msg_iovlen = 1;
    messages[i].msg_hdr.msg_name = datagrams[i].origin;
    messages[i].msg_hdr.msg_namelen = sizeof datagrams[i].origin;
  }
  int received = recvmmsg(descriptor, messages, count, MSG_DONTWAIT, NULL);
  for (int i = 0; i < received; i++) datagrams[i].length = messages[i].msg_len;
  return received;
}
