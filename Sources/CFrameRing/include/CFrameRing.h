// What a ring of frames needs of Linux that Swift does not import: memfd_create(2) with seals,
// descriptors sent over sockets, and stores in the order that readers in other processes rely on.
//
// No system header is included here, because Swift would then take its types for this module's
// instead of the C library's.
#ifndef CFRAMERING_H
#define CFRAMERING_H

#include <stddef.h>
#include <stdint.h>

#define RTP_RECV_RING_LAYOUT_ONLY
#include "rtp_recv_ring.h"

// Makes memory of `size` bytes that is all there, maps it to write, and seals it: nobody can shrink or
// grow it, and nobody else can write it. Returns its descriptor, or -1 with errno set.
int frame_ring_memory(size_t size, void **memory);

// Listens at `path` (SOCK_SEQPACKET), in place of a socket at which nobody listens any more. The owner
// can connect, and the group where the umask lets it read. `identity` becomes device and inode of the
// socket. Returns the descriptor, or -1 with errno set: EADDRINUSE if somebody listens there, EEXIST if
// something else is there.
int frame_ring_listen(const char *path, uint64_t identity[2]);

// Removes the socket at `path` if it is still the one that was made.
void frame_ring_unlink(const char *path, const uint64_t identity[2]);

// Accepts a reader; `credentials` become its process and user. Returns a descriptor, or -1 with errno
// set.
int frame_ring_accept(int listener, uint32_t credentials[2]);

// Sends `datagram`, with `descriptor` unless that is negative, without waiting. Returns 0 or an errno.
int frame_ring_send(
  int reader, const struct rtp_recv_ring_datagram *datagram, int descriptor);

// Whether a reader has read all that was sent to it.
int frame_ring_is_read(int reader);

// Bytes of memory that are to be had, by the kernel and by the limit of the control group.
uint64_t frame_ring_available_memory(void);

// The identity of this boot of the machine; zeros if it is unknown.
void frame_ring_boot_id(uint8_t id[16]);

// Marks the slot as being written for frame `sequence`; what is written afterwards is seen later.
void frame_ring_begin(struct rtp_recv_ring_slot *slot, uint64_t sequence);

// Marks the slot as holding frame `sequence`, and the frame as the newest.
void frame_ring_publish(
  struct rtp_recv_ring_header *header, struct rtp_recv_ring_slot *slot, uint64_t sequence);

void frame_ring_set_state(struct rtp_recv_ring_header *header, uint32_t state);
void frame_ring_set_epoch(struct rtp_recv_ring_header *header, uint64_t epoch);
void frame_ring_set_heartbeat(struct rtp_recv_ring_header *header, uint64_t nanoseconds);

#endif
