// recvmmsg(2) and epoll(7) for Swift, which does not import them: their structures are extensions of
// GNU and Linux.
//
// No system header is included here, since its types would then be this module's to Swift and no
// longer the C library's.
#ifndef CSOCKETS_H
#define CSOCKETS_H

#include <stddef.h>
#include <stdint.h>

// A datagram that was read: its length, and where it came from as a `sockaddr_storage`.
struct csockets_datagram {
  unsigned int length;
  unsigned char origin[128] __attribute__((aligned(8)));
};

// Reads the datagrams that wait, at most `count` and at most 64, each to the start of a slot of its
// own in `storage`, without waiting. Returns how many, or -1 with errno set.
int csockets_receive(int descriptor, void *storage, size_t slot, struct csockets_datagram *datagrams,
                     unsigned int count);

// A pipe whose ends no program started from this one inherits. Returns 0, or -1 with errno set.
int csockets_pipe(int ends[2]);

// A set of descriptors of which to be told when they have something to read or an error to report.
// Returns its descriptor, or -1 with errno set.
int csockets_readiness_open(void);

// Has the set tell `number` once, when `descriptor` has something. Returns 0, or -1 with errno set.
int csockets_readiness_add(int set, int descriptor, uint64_t number);

// Takes `descriptor` out of the set.
void csockets_readiness_remove(int set, int descriptor);

// Sleeps until descriptors of the set are ready, and writes their numbers: at most `count`, and at
// most 64. Returns how many, or 0 after a signal.
int csockets_readiness_wait(int set, uint64_t *numbers, int count);

#endif
