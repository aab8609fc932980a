#define _GNU_SOURCE
#include "CLinux.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { limit = 64 };

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

_Static_assert(sizeof(struct clinux_piece) == sizeof(struct iovec) &&
                   offsetof(struct clinux_piece, length) == offsetof(struct iovec, iov_len),
               "pieces are given to the kernel as they are");

// Room for UDP_SEGMENT.
union control {
  char bytes[CMSG_SPACE(sizeof(uint16_t))];
  struct cmsghdr alignment;
};

static void cut(struct msghdr *message, union control *control, uint16_t segment) {
  memset(control, 0, sizeof *control);
  message->msg_control = control;
  message->msg_controllen = sizeof *control;
  struct cmsghdr *part = CMSG_FIRSTHDR(message);
  part->cmsg_level = IPPROTO_UDP;
  part->cmsg_type = UDP_SEGMENT;
  part->cmsg_len = CMSG_LEN(sizeof segment);
  memcpy(CMSG_DATA(part), &segment, sizeof segment);
}

int clinux_send(int descriptor, const struct clinux_message *messages, unsigned int count,
                const struct clinux_piece *pieces) {
  struct mmsghdr headers[limit];
  union control controls[limit];
  if (count > limit) count = limit;
  memset(headers, 0, count * sizeof *headers);
  for (unsigned int i = 0; i < count; i++) {
    struct msghdr *header = &headers[i].msg_hdr;
    header->msg_name = (void *)messages[i].address;
    header->msg_namelen = messages[i].address_length;
    header->msg_iov = (struct iovec *)&pieces[messages[i].first];
    header->msg_iovlen = messages[i].pieces;
    if (messages[i].segment) cut(header, &controls[i], messages[i].segment);
  }
  return sendmmsg(descriptor, headers, count, MSG_NOSIGNAL);
}

int clinux_cuts_datagrams(int descriptor) {
  int value = 0;
  socklen_t length = sizeof value;
  return getsockopt(descriptor, IPPROTO_UDP, UDP_SEGMENT, &value, &length) == 0;
}
