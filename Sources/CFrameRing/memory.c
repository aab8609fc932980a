#define _GNU_SOURCE
#include "CFrameRing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(offsetof(struct rtp_recv_ring_header, latest) == 64, "in a line of its own");
_Static_assert(sizeof(struct rtp_recv_ring_header) <= RTP_RECV_RING_HEADER_SIZE, "the header fits");
_Static_assert(sizeof(struct rtp_recv_ring_slot) <= RTP_RECV_RING_SLOT_HEADER_SIZE,
               "the header of a slot fits");
_Static_assert(sizeof(struct rtp_recv_ring_datagram) == 32, "readers know the length");

// In Linux since 5.1, but not in the headers of every distribution.
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

int frame_ring_memory(size_t size, void **memory) {
  int descriptor = memfd_create("rtp-recv frames", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return -1;
  int error = 0;
  *memory = MAP_FAILED;
  if (ftruncate(descriptor, (off_t)size) != 0) error = errno;
  // Otherwise lack of memory would be a SIGBUS at the first write.
  if (!error) error = posix_fallocate(descriptor, 0, (off_t)size);
  if (!error) {
    *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (*memory == MAP_FAILED) error = errno;
  }
  // Mappings that exist stay writable.
  if (!error && fcntl(descriptor, F_ADD_SEALS,
                      F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0)
    error = errno;
  if (!error) return descriptor;
  if (*memory != MAP_FAILED) munmap(*memory, size);
  close(descriptor);
  errno = error;
  return -1;
}

// The first number in `file` of the folder `folder` that follows `name`; UINT64_MAX if there is none.
static uint64_t number_in(const char *folder, const char *file, const char *name) {
  char path[512], line[256];
  uint64_t number = UINT64_MAX;
  if (snprintf(path, sizeof path, "%s/%s", folder, file) >= (int)sizeof path) return number;
  FILE *text = fopen(path, "re");
  if (!text) return number;
  while (number == UINT64_MAX && fgets(line, sizeof line, text)) {
    unsigned long long found;
    if (strncmp(line, name, strlen(name)) == 0 && sscanf(line + strlen(name), "%llu", &found) == 1)
      number = found;
  }
  fclose(text);
  return number;
}

// What the control group of this process, such as a container, may still take: all but what the
// kernel cannot give up for it. UINT64_MAX without a limit.
static uint64_t available_in_group(void) {
  char line[256], folder[320];
  FILE *text = fopen("/proc/self/cgroup", "re");
  int is_found = 0;
  if (!text) return UINT64_MAX;
  while (!is_found && fgets(line, sizeof line, text)) is_found = strncmp(line, "0::/", 4) == 0;
  fclose(text);
  if (!is_found) return UINT64_MAX;
  line[strcspn(line, "\n")] = 0;
  snprintf(folder, sizeof folder, "/sys/fs/cgroup%s", line + 3);
  uint64_t most = number_in(folder, "memory.max", ""), used = number_in(folder, "memory.current", "");
  if (most == UINT64_MAX || used == UINT64_MAX) return UINT64_MAX;
  uint64_t active = number_in(folder, "memory.stat", "active_file ");
  uint64_t inactive = number_in(folder, "memory.stat", "inactive_file ");
  uint64_t cached =
    active == UINT64_MAX || inactive == UINT64_MAX ? 0 : active + inactive;
  uint64_t bound = used > cached ? used - cached : 0;
  return most > bound ? most - bound : 0;
}

uint64_t frame_ring_available_memory(void) {
  uint64_t kibibytes = number_in("/proc", "meminfo", "MemAvailable:");
  uint64_t of_machine = kibibytes > UINT64_MAX >> 10 ? UINT64_MAX : kibibytes << 10;
  uint64_t of_group = available_in_group();
  return of_machine < of_group ? of_machine : of_group;
}

void frame_ring_boot_id(uint8_t id[16]) {
  memset(id, 0, 16);
  FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
  if (!file) return;
  for (int i = 0, digits = 0, c; digits < 32 && (c = fgetc(file)) != EOF; i++) {
    int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (value < 0) continue;
    id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | value);
    digits++;
  }
  fclose(file);
}

void frame_ring_begin(struct rtp_recv_ring_slot *slot, uint64_t sequence) {
  __atomic_store_n(&slot->lock, 2 * sequence - 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
}

void frame_ring_publish(struct rtp_recv_ring_header *header, struct rtp_recv_ring_slot *slot,
                        uint64_t sequence) {
  __atomic_store_n(&slot->lock, 2 * sequence, __ATOMIC_RELEASE);
  __atomic_store_n(&header->latest, sequence, __ATOMIC_RELEASE);
}

void frame_ring_set_state(struct rtp_recv_ring_header *header, uint32_t state) {
  __atomic_store_n(&header->state, state, __ATOMIC_RELEASE);
}

void frame_ring_set_epoch(struct rtp_recv_ring_header *header, uint64_t epoch) {
  __atomic_store_n(&header->epoch, epoch, __ATOMIC_RELEASE);
}

void frame_ring_set_heartbeat(struct rtp_recv_ring_header *header, uint64_t nanoseconds) {
  __atomic_store_n(&header->heartbeat_ns, nanoseconds, __ATOMIC_RELEASE);
}
