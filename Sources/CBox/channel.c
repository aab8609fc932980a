#define _GNU_SOURCE
#include "CBox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

// In Linux since 5.1, but not in the headers of every distribution.
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

int box_send(int socket, const void *bytes, size_t count, int descriptor, int waits) {
  struct iovec piece = {(void *)bytes, count};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  if (descriptor >= 0) {
    memset(&control, 0, sizeof control);
    message.msg_control = &control;
    message.msg_controllen = sizeof control.room;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  while (sendmsg(socket, &message, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT)) < 0)
    if (errno != EINTR) return -1;
  return 0;
}

ptrdiff_t box_receive(int socket, void *bytes, size_t capacity, int *descriptor, int milliseconds) {
  *descriptor = -1;
  if (milliseconds >= 0) {
    struct pollfd wait = {socket, POLLIN, 0};
    int ready = poll(&wait, 1, milliseconds);
    if (ready < 0) return -1;
    if (ready == 0) {
      errno = ETIMEDOUT;
      return -1;
    }
  }
  struct iovec piece = {bytes, capacity};
  // Room for more descriptors than one, so that those of a liar are closed and not lost.
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(16 * sizeof(int))];
  } control;
  struct msghdr message = {
    .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (count < 0) return -1;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t found = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t index = 0; index < found; index++) {
      int one;
      memcpy(&one, CMSG_DATA(header) + index * sizeof one, sizeof one);
      if (*descriptor < 0) *descriptor = one;
      else close(one);
    }
  }
  if (message.msg_flags & MSG_TRUNC) {
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
    errno = EMSGSIZE;
    return -1;
  }
  return count;
}

int box_memory(size_t size, int for_both, void **memory) {
  int descriptor = memfd_create("rtp-recv decoder", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return -1;
  *memory = MAP_FAILED;
  int error = ftruncate(descriptor, (off_t)size) != 0 ? errno : 0;
  // Otherwise lack of memory would be a SIGBUS when it is first used.
  if (!error) error = posix_fallocate(descriptor, 0, (off_t)size);
  if (!error) {
    int protection = for_both ? PROT_READ : PROT_READ | PROT_WRITE;
    *memory = mmap(NULL, size, protection, MAP_SHARED, descriptor, 0);
    if (*memory == MAP_FAILED) error = errno;
  }
  // Who could shorten it could end this process by SIGBUS. Mappings that exist stay writable.
  int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (for_both ? 0 : F_SEAL_FUTURE_WRITE);
  if (!error && fcntl(descriptor, F_ADD_SEALS, seals) != 0) error = errno;
  if (!error) return descriptor;
  if (*memory != MAP_FAILED) munmap(*memory, size);
  close(descriptor);
  errno = error;
  return -1;
}

void *box_map(int descriptor, size_t size, int writable) {
  int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void *memory = mmap(NULL, size, protection, MAP_SHARED, descriptor, 0);
  int error = errno;
  close(descriptor);
  errno = error;
  return memory == MAP_FAILED ? NULL : memory;
}

void box_unmap(void *memory, size_t size) { munmap(memory, size); }
