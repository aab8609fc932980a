/*
 * The ring of frames that `rtp-recv SOURCE -o shm:PATH` serves, for C and C++. This file is all that
 * is needed, on Linux, little-endian, 64 bits; C needs -std=gnu11 or later.
 *
 *   struct rtp_recv_ring ring;
 *   struct rtp_recv_frame frame;
 *   if (rtp_recv_ring_open(&ring, "camera.ring") != 0) return errno;
 *   while (rtp_recv_ring_wait(&ring, 5000) == RTP_RECV_RING_FRAME) {
 *     int outcome = rtp_recv_ring_latest(&ring, &frame);
 *     if (outcome < 0) break;
 *     if (outcome != RTP_RECV_RING_FRAME) continue;
 *     use(frame.plane[0], frame.header.planes[0].stride);
 *     if (!rtp_recv_frame_is_valid(&frame)) forget_it();
 *   }
 *   rtp_recv_ring_close(&ring);
 *
 * The writer listens on a unix socket (SOCK_SEQPACKET). A reader that connects is sent a datagram with
 * the descriptor of a sealed memfd (SCM_RIGHTS), and from then on a datagram for each frame. The
 * memory holds a header of 4096 bytes, then `slot_count` slots of `slot_stride` bytes, each a header
 * of 256 bytes and the planes. Frame n is in slot n % slot_count until frame n + slot_count replaces
 * it: the writer waits for nobody. A change of size or pixel format comes as another memfd in a
 * datagram of the same kind, whose `first` is the first frame that is in it. Before the first frame,
 * the memory is a header without slots.
 *
 * A slot is read as a sequence lock: `lock` is 2n while the slot holds frame n, and odd while it is
 * written. What was copied, or computed from the memory, counts only if `lock` was 2n before and is
 * still 2n afterwards.
 */
#ifndef RTP_RECV_RING_H
#define RTP_RECV_RING_H

#include <stdint.h>

#define RTP_RECV_RING_MAGIC 0x46505452u /* "RTPF" */
#define RTP_RECV_RING_VERSION 1
#define RTP_RECV_RING_HEADER_SIZE 4096
#define RTP_RECV_RING_SLOT_HEADER_SIZE 256
#define RTP_RECV_RING_PLANES 4

/* The state of the stream. */
enum {
  RTP_RECV_RING_STARTING = 0, /* no frame has come yet */
  RTP_RECV_RING_LIVE = 1,     /* frames come */
  RTP_RECV_RING_STALLED = 2,  /* no frame has come for some time; the connection stands */
  RTP_RECV_RING_LOST = 3,     /* the connection is lost, and the writer connects again */
  RTP_RECV_RING_ENDED = 4     /* no more frames will come */
};

/* How faithful a frame is to what was sent. */
enum {
  RTP_RECV_RING_INTACT = 0,
  RTP_RECV_RING_CONCEALED = 1,
  RTP_RECV_RING_DAMAGED = 2,
  RTP_RECV_RING_REPEATED = 3
};

/* The bits of `flags`. */
enum {
  RTP_RECV_RING_KEY = 1,          /* decoding can begin at it */
  RTP_RECV_RING_FULL_RANGE = 2,   /* samples use all values */
  RTP_RECV_RING_RANGE_KNOWN = 4,  /* the stream says which values they use */
  RTP_RECV_RING_INTERLACED = 8,   /* two fields */
  RTP_RECV_RING_TOP_FIELD_FIRST = 16,
  RTP_RECV_RING_DISCONTINUITY = 32 /* the first frame after a lost connection */
};

/* The kinds of datagrams. */
enum {
  RTP_RECV_RING_MEMORY = 1, /* a memfd comes with it; `sequence` is the first frame that is in it */
  RTP_RECV_RING_NEW_FRAME = 2,
  RTP_RECV_RING_NEW_STATE = 3 /* `value` is the state */
};

struct rtp_recv_ring_datagram {
  uint32_t kind;
  uint32_t value; /* of a frame: its slot */
  uint64_t epoch;
  uint64_t sequence;
  uint64_t time_ns; /* CLOCK_MONOTONIC */
};

/* At the start of the memory. All numbers are little-endian; times are in nanoseconds. */
struct rtp_recv_ring_header {
  uint32_t magic;
  uint16_t version;
  uint16_t reserved;
  uint32_t header_size;
  uint32_t slot_header_size;
  uint32_t slot_count;
  uint32_t writer_pid;
  uint64_t slot_stride;
  uint64_t size;  /* of the memory */
  uint64_t first; /* the first frame that is in this memory */
  uint8_t boot_id[16];
  /* What changes is in a cache line of its own, the second. */
  uint64_t latest;       /* the newest frame; 0 or below `first`: none */
  uint64_t epoch;        /* grows with every connection and every memory */
  uint64_t heartbeat_ns; /* CLOCK_MONOTONIC; renewed every second while the writer lives */
  uint32_t state;
  uint32_t reserved2;
};

struct rtp_recv_ring_plane {
  uint32_t offset;    /* from the start of the slot */
  uint32_t stride;    /* bytes from one row to the next, a multiple of 64 */
  uint32_t row_bytes; /* bytes of samples in a row */
  uint32_t rows;
};

/* At the start of a slot. */
struct rtp_recv_ring_slot {
  uint64_t lock;
  uint64_t sequence; /* 1 and up, without gaps, across epochs */
  uint64_t epoch;
  int64_t pts_ns;           /* the media time */
  int64_t capture_ns;       /* when it was taken: UTC since 1970, by the sender's clock; 0: unknown */
  int64_t first_arrival_ns; /* of its packets, CLOCK_MONOTONIC; of a recording, UTC since 1970 */
  int64_t last_arrival_ns;
  int64_t published_ns; /* when it came into the ring, CLOCK_MONOTONIC */
  int64_t rtp_ticks;    /* the RTP timestamp, unwrapped to 64 bits */
  uint32_t rtp_rate;    /* ticks a second */
  uint32_t flags;
  uint32_t width;
  uint32_t height;
  uint32_t plane_count;
  uint32_t condition;
  char pixel_format[16]; /* libav's name, such as nv12 or bgr24, padded with zeros */
  char damage[16];       /* why it is not intact, such as lost_packets; empty if it is */
  uint32_t sar_width;    /* the shape of a sample; 0: unknown */
  uint32_t sar_height;
  uint32_t rate_numerator; /* frames a second; 0: unknown */
  uint32_t rate_denominator;
  uint8_t primaries; /* H.273 */
  uint8_t transfer;
  uint8_t matrix;
  uint8_t reserved[5];
  struct rtp_recv_ring_plane planes[RTP_RECV_RING_PLANES];
};

#ifndef RTP_RECV_RING_LAYOUT_ONLY

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* In <fcntl.h> only with _GNU_SOURCE. */
#define RTP_RECV_RING_GET_SEALS 1034
#define RTP_RECV_RING_SEAL_SHRINK 2

/* What a call came to. */
enum {
  RTP_RECV_RING_FRAME = 1,    /* there is a frame that was not seen yet */
  RTP_RECV_RING_NOTHING = 0,  /* none came in time */
  RTP_RECV_RING_OVER = -1,    /* the stream has ended */
  /* The writer is gone, or has 64 readers and takes no more: close the ring, and open it again, each
     time after a pause, such as a second. */
  RTP_RECV_RING_GONE = -2,
  RTP_RECV_RING_INVALID = -3  /* what the writer sent is no ring of this version */
};

struct rtp_recv_ring {
  int socket;
  const uint8_t *memory; /* NULL before the first datagram */
  uint64_t size;
  uint64_t slot_stride;
  uint64_t first;
  uint32_t slot_count; /* 0 before the first frame */
  uint64_t seen;       /* the newest frame that was read */
};

/* A frame in the memory of the writer, which replaces it after a while. */
struct rtp_recv_frame {
  struct rtp_recv_ring_slot header; /* a copy, checked */
  const uint8_t *plane[RTP_RECV_RING_PLANES];
  const struct rtp_recv_ring_slot *slot;
};

static inline void rtp_recv_ring_close(struct rtp_recv_ring *ring) {
  if (ring->memory) munmap((void *)ring->memory, ring->size);
  if (ring->socket >= 0) close(ring->socket);
  ring->memory = NULL;
  ring->socket = -1;
}

static inline uint64_t rtp_recv_ring_load(const uint64_t *number) {
  return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}

static inline int64_t rtp_recv_ring_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Maps the memory of `descriptor`, and checks every number of its header against its size. */
static inline int rtp_recv_ring_map(struct rtp_recv_ring *ring, int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0 || status.st_size < RTP_RECV_RING_HEADER_SIZE)
    return RTP_RECV_RING_INVALID;
  /* Otherwise the writer could cut it off under the reader, which would be a SIGBUS. */
  int seals = fcntl(descriptor, RTP_RECV_RING_GET_SEALS);
  if (seals < 0 || !(seals & RTP_RECV_RING_SEAL_SHRINK)) return RTP_RECV_RING_INVALID;
  uint64_t size = (uint64_t)status.st_size;
  void *memory = mmap(NULL, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return RTP_RECV_RING_INVALID;
  struct rtp_recv_ring_header header;
  memcpy(&header, memory, sizeof header);
  if (header.magic != RTP_RECV_RING_MAGIC || header.version != RTP_RECV_RING_VERSION ||
      header.header_size != RTP_RECV_RING_HEADER_SIZE ||
      header.slot_header_size != RTP_RECV_RING_SLOT_HEADER_SIZE || header.size != size ||
      (header.slot_count != 0 &&
       (header.slot_stride < RTP_RECV_RING_SLOT_HEADER_SIZE || header.slot_stride % 64 != 0 ||
        (size - RTP_RECV_RING_HEADER_SIZE) / header.slot_count < header.slot_stride))) {
    munmap(memory, size);
    return RTP_RECV_RING_INVALID;
  }
  if (ring->memory) munmap((void *)ring->memory, ring->size);
  ring->memory = (const uint8_t *)memory;
  ring->size = size;
  ring->slot_stride = header.slot_stride;
  ring->slot_count = header.slot_count;
  ring->first = header.first;
  return RTP_RECV_RING_FRAME;
}

/* Reads the waiting datagrams, and maps the newest memory. */
static inline int rtp_recv_ring_drain(struct rtp_recv_ring *ring) {
  for (;;) {
    struct rtp_recv_ring_datagram datagram;
    union {
      struct cmsghdr header;
      char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec vector = {&datagram, sizeof datagram};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    ssize_t count = recvmsg(ring->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return RTP_RECV_RING_FRAME;
    if (count <= 0) return RTP_RECV_RING_GONE;
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);
    int outcome = RTP_RECV_RING_FRAME;
    /* This process has no descriptor left, and the writer sends a memory once. */
    if (message.msg_flags & MSG_CTRUNC && !part) return RTP_RECV_RING_GONE;
    if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS) {
      /* One is expected, and there is room for two. */
      size_t descriptors = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < descriptors; i++) {
        int descriptor;
        memcpy(&descriptor, CMSG_DATA(part) + i * sizeof descriptor, sizeof descriptor);
        if (i == 0) outcome = rtp_recv_ring_map(ring, descriptor);
        close(descriptor);
      }
    }
    if (outcome != RTP_RECV_RING_FRAME) return outcome;
    if (count != (ssize_t)sizeof datagram) return RTP_RECV_RING_INVALID;
  }
}

/* The state of the stream; starting before the memory has come. */
static inline uint32_t rtp_recv_ring_state(const struct rtp_recv_ring *ring) {
  if (!ring->memory) return RTP_RECV_RING_STARTING;
  const struct rtp_recv_ring_header *header = (const struct rtp_recv_ring_header *)ring->memory;
  return __atomic_load_n(&header->state, __ATOMIC_ACQUIRE);
}

/* The number of the newest frame; 0 if there is none. */
static inline uint64_t rtp_recv_ring_newest(const struct rtp_recv_ring *ring) {
  if (ring->slot_count == 0) return 0;
  const struct rtp_recv_ring_header *header = (const struct rtp_recv_ring_header *)ring->memory;
  uint64_t latest = rtp_recv_ring_load(&header->latest);
  return latest >= ring->first ? latest : 0;
}

/* Waits until there is a frame newer than the last one read, for `milliseconds` at most. */
static inline int rtp_recv_ring_wait(struct rtp_recv_ring *ring, int milliseconds) {
  int64_t end = rtp_recv_ring_now() + (int64_t)milliseconds * 1000000;
  for (;;) {
    int outcome = rtp_recv_ring_drain(ring);
    if (rtp_recv_ring_newest(ring) > ring->seen) return RTP_RECV_RING_FRAME;
    if (rtp_recv_ring_state(ring) == RTP_RECV_RING_ENDED) return RTP_RECV_RING_OVER;
    if (outcome != RTP_RECV_RING_FRAME) return outcome;
    int64_t left = end - rtp_recv_ring_now();
    if (left <= 0) return RTP_RECV_RING_NOTHING;
    struct pollfd request = {ring->socket, POLLIN, 0};
    poll(&request, 1, (int)((left + 999999) / 1000000));
  }
}

/*
 * Connects to the writer that listens at `path`.
 *
 * Returns 0, or -1 with errno set: ENOENT or ECONNREFUSED where nobody listens.
 */
static inline int rtp_recv_ring_open(struct rtp_recv_ring *ring, const char *path) {
  struct sockaddr_un address;
  memset(ring, 0, sizeof *ring);
  memset(&address, 0, sizeof address);
  ring->socket = -1;
  address.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, path);
  ring->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (ring->socket < 0) return -1;
  if (connect(ring->socket, (struct sockaddr *)&address, sizeof address) == 0) return 0;
  int error = errno;
  rtp_recv_ring_close(ring);
  errno = error;
  return -1;
}

/* Whether the writer has left the frame alone until now. */
static inline int rtp_recv_frame_is_valid(const struct rtp_recv_frame *frame) {
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(&frame->slot->lock, __ATOMIC_RELAXED) == 2 * frame->header.sequence;
}

/*
 * Finds frame `number` in the memory, which stays mapped until the next call that waits or looks for
 * the latest.
 *
 * Returns RTP_RECV_RING_FRAME, or RTP_RECV_RING_NOTHING if it is no longer, or not yet, there.
 */
static inline int rtp_recv_ring_read(struct rtp_recv_ring *ring, uint64_t number,
                                     struct rtp_recv_frame *frame) {
  if (ring->slot_count == 0 || number == 0 || number < ring->first) return RTP_RECV_RING_NOTHING;
  uint64_t offset = RTP_RECV_RING_HEADER_SIZE + number % ring->slot_count * ring->slot_stride;
  frame->slot = (const struct rtp_recv_ring_slot *)(ring->memory + offset);
  if (rtp_recv_ring_load(&frame->slot->lock) != 2 * number) return RTP_RECV_RING_NOTHING;
  memcpy(&frame->header, frame->slot, sizeof frame->header);
  frame->header.pixel_format[sizeof frame->header.pixel_format - 1] = 0;
  frame->header.damage[sizeof frame->header.damage - 1] = 0;
  if (frame->header.sequence != number || !rtp_recv_frame_is_valid(frame))
    return RTP_RECV_RING_NOTHING;
  if (frame->header.plane_count == 0 || frame->header.plane_count > RTP_RECV_RING_PLANES)
    return RTP_RECV_RING_INVALID;
  for (uint32_t i = 0; i < RTP_RECV_RING_PLANES; i++) {
    frame->plane[i] = NULL;
    if (i >= frame->header.plane_count) continue;
    struct rtp_recv_ring_plane plane = frame->header.planes[i];
    if (plane.row_bytes > plane.stride || plane.offset < RTP_RECV_RING_SLOT_HEADER_SIZE ||
        plane.offset + (uint64_t)plane.stride * plane.rows > ring->slot_stride)
      return RTP_RECV_RING_INVALID;
    frame->plane[i] = (const uint8_t *)frame->slot + plane.offset;
  }
  if (number > ring->seen) ring->seen = number;
  return RTP_RECV_RING_FRAME;
}

/* Finds the newest frame, as above. */
static inline int rtp_recv_ring_latest(struct rtp_recv_ring *ring, struct rtp_recv_frame *frame) {
  rtp_recv_ring_drain(ring);
  int outcome = RTP_RECV_RING_NOTHING;
  for (int attempt = 0; attempt < 3 && outcome == RTP_RECV_RING_NOTHING; attempt++)
    outcome = rtp_recv_ring_read(ring, rtp_recv_ring_newest(ring), frame);
  return outcome;
}

#endif /* RTP_RECV_RING_LAYOUT_ONLY */

#endif
