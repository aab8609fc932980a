// recvmmsg(2), sendmmsg(2), epoll(7), fstatfs(2) and mallopt(3) for Swift, which does not import
// them: they are extensions of GNU and Linux.
//
// No system header is included here, because Swift would then take its types for this module's
// instead of the C library's.
#ifndef CLINUX_H
#define CLINUX_H

#include <stddef.h>
#include <stdint.h>

// What was read at once: its arrival in nanoseconds since 1970, or 0 unless SO_TIMESTAMPNS is set; its
// length; the length of each datagram in it but the last if it may hold several (UDP_GRO), otherwise 0;
// and its origin as a `sockaddr_storage`.
struct clinux_datagram {
  int64_t time;
  unsigned int length;
  unsigned int segment;
  unsigned char origin[128] __attribute__((aligned(8)));
};

// Reads what waits, at most `count` times and at most 64 times, each time to the start of a slot in
// `storage`, without blocking. Returns how many slots are filled, or -1 with errno set.
int clinux_receive(int descriptor, void *storage, size_t slot, struct clinux_datagram *datagrams,
                     unsigned int count);

// The time in nanoseconds since 1970, on the clock of arrivals.
int64_t clinux_universal_time(void);

// Bytes in a row of a message.
struct clinux_piece {
  const void *bytes;
  size_t length;
};

// Datagrams to one address: consecutive `pieces`, from the one numbered `first` on. The kernel cuts
// them into datagrams of `segment` bytes, of which the last may be shorter, or not at all if that is
// 0.
struct clinux_message {
  const void *address;
  unsigned int address_length;
  unsigned int first;
  unsigned int pieces;
  unsigned short segment;
};

// Sends messages, at most 64. Returns how many, or -1 with errno set.
int clinux_send(int descriptor, const struct clinux_message *messages, unsigned int count,
                const struct clinux_piece *pieces);

// Whether the kernel cuts messages into datagrams (UDP_SEGMENT, Linux 4.18).
int clinux_cuts_datagrams(int descriptor);

// Makes a pipe that child programs do not inherit. Returns 0, or -1 with errno set.
int clinux_pipe(int ends[2]);

// Locks a file that is open for writing, until the descriptor and all its copies are closed; tries
// that for a second. Returns 0 also where nothing can be locked, and -1 if somebody else has the
// lock.
int clinux_lock(int descriptor);

// Makes a set of descriptors to watch for data to read or errors to report. Returns its descriptor,
// or -1 with errno set.
int clinux_readiness_open(void);

// Makes the set report `number` once `descriptor` is ready. Returns 0, or -1 with errno set.
int clinux_readiness_add(int set, int descriptor, uint64_t number);

// Removes `descriptor` from the set.
void clinux_readiness_remove(int set, int descriptor);

// Sleeps until descriptors of the set are ready, and writes their numbers: at most `count`, and at
// most 64. Returns how many, or 0 after a signal.
int clinux_readiness_wait(int set, uint64_t *numbers, int count);

// Makes the allocator have two arenas, and keep up to 32 MiB of freed memory for each of them instead of
// returning it to the kernel.
void clinux_keep_freed_memory(void);

#endif
