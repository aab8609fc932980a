// recvmmsg(2) for Swift, which does not import it: the structures it takes are GNU extensions.
//
// No system header is included here, since its types would then be this module's to Swift and no
// longer the C library's.
#ifndef CSOCKETS_H
#define CSOCKETS_H

#include <stddef.h>

// A datagram that was read: its length, and where it came from as a `sockaddr_storage`.
struct csockets_datagram {
  unsigned int length;
  unsigned char origin[128] __attribute__((aligned(8)));
};

// Reads the datagrams that wait, at most `count` and at most 64, each to the start of a slot of its
// own in `storage`, without waiting. Returns how many, or -1 with errno set.
int csockets_receive(int descriptor, void *storage, size_t slot, struct csockets_datagram *datagrams,
                     unsigned int count);

#endif
