/*
 * Reads a ring in whose frames every eight bytes are the number of the frame.
 *
 * usage: ring-check PATH [STOP]; ends with the stream, or after frame STOP. Prints one line: how many
 * frames were read, how many of those that the ring calls valid were torn, the last one, and why it
 * ended.
 */
#include "rtp_recv_ring.h"

#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
  struct rtp_recv_ring ring;
  struct rtp_recv_frame frame;
  unsigned long long frames = 0, torn = 0, stop = count > 2 ? strtoull(arguments[2], NULL, 10) : 0;
  if (count < 2 || rtp_recv_ring_open(&ring, arguments[1]) != 0) {
    perror("open");
    return 2;
  }
  printf("open\n");
  fflush(stdout);
  int outcome;
  while ((outcome = rtp_recv_ring_wait(&ring, 20000)) == RTP_RECV_RING_FRAME) {
    outcome = rtp_recv_ring_latest(&ring, &frame);
    if (outcome == RTP_RECV_RING_NOTHING) continue;
    if (outcome != RTP_RECV_RING_FRAME) break;
    int is_torn = 0;
    for (unsigned i = 0; i < frame.header.plane_count; i++) {
      struct rtp_recv_ring_plane plane = frame.header.planes[i];
      for (uint32_t row = 0; row < plane.rows; row++)
        for (uint32_t column = 0; column + 8 <= plane.row_bytes; column += 8) {
          uint64_t number;
          memcpy(&number, frame.plane[i] + row * (uint64_t)plane.stride + column, 8);
          if (number != frame.header.sequence) is_torn = 1;
        }
    }
    if (!rtp_recv_frame_is_valid(&frame)) continue;
    frames++;
    torn += is_torn;
    if (stop && ring.seen >= stop) break;
  }
  printf("frames %llu torn %llu last %llu outcome %d\n", frames, torn,
         (unsigned long long)ring.seen, outcome);
  rtp_recv_ring_close(&ring);
  return torn != 0;
}
