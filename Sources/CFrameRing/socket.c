#define _GNU_SOURCE
#include "CFrameRing.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
  backlog = 16,
  // A reader that does not read has about twenty datagrams waiting; it is then told no more, and
  // finds the newest frame by the header.
  send_buffer = 16 << 10,
  // How often, every 10 ms, the lock of the folder is tried: it is held for less.
  lock_attempts = 100
};

// Whether somebody listens at `address`; errno says why not.
static int is_served(const struct sockaddr_un *address) {
  int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return 1;
  int outcome = connect(probe, (const struct sockaddr *)address, sizeof *address);
  int error = errno;
  close(probe);
  return outcome == 0 || error != ECONNREFUSED;
}

// Locks the folder of `path` among writers, until the descriptor is closed. Returns -1 where that
// cannot be done, such as in a folder that may not be read.
static int lock_folder(const char *path) {
  const struct timespec pause = {0, 10000000};
  char folder[sizeof((struct sockaddr_un *)0)->sun_path] = ".";
  const char *slash = strrchr(path, '/');
  // With the slash, so that the folder of "/ring" is "/".
  if (slash) memcpy(folder, path, (size_t)(slash + 1 - path));
  int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int attempt = 1; descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0; attempt++) {
    if (errno != EWOULDBLOCK || attempt == lock_attempts) {
      close(descriptor);
      return -1;
    }
    nanosleep(&pause, NULL);
  }
  return descriptor;
}

// Lets the group connect where the umask lets it read: connect(2) needs the right to write, which
// usual umasks keep for the owner. Where that fails, as without /proc, the owner can still connect.
static void share_with_group(const char *path, mode_t mode) {
  if (mode & S_IRGRP) fchmodat(AT_FDCWD, path, (mode & 0777) | S_IWGRP, AT_SYMLINK_NOFOLLOW);
}

int frame_ring_listen(const char *path, uint64_t identity[2]) {
  struct sockaddr_un address;
  struct stat status;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, path);
  int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return -1;
  // The socket's mode is that of the file which bind(2) makes, less the umask.
  int error = fchmod(listener, 0660) == 0 ? 0 : errno;
  // Between bind(2) and listen(2), the socket of a writer that starts looks like that of a dead one.
  int lock = lock_folder(path);
  for (int attempt = 0; !error; attempt++) {
    if (bind(listener, (struct sockaddr *)&address, sizeof address) == 0) break;
    error = errno;
    if (error != EADDRINUSE || attempt > 0 || lstat(path, &status) != 0) break;
    if (!S_ISSOCK(status.st_mode)) {
      error = EEXIST;
    } else if (!is_served(&address)) {
      // A writer that was killed has left it.
      error = unlink(path) == 0 ? 0 : errno;
    }
  }
  if (!error && stat(path, &status) != 0) error = errno;
  if (!error) {
    share_with_group(path, status.st_mode);
    error = listen(listener, backlog) == 0 ? 0 : errno;
  }
  if (lock >= 0) close(lock);
  if (!error) {
    identity[0] = status.st_dev;
    identity[1] = status.st_ino;
    return listener;
  }
  close(listener);
  errno = error;
  return -1;
}

void frame_ring_unlink(const char *path, const uint64_t identity[2]) {
  struct stat status;
  if (stat(path, &status) == 0 && status.st_dev == identity[0] && status.st_ino == identity[1])
    unlink(path);
}

int frame_ring_accept(int listener, uint32_t credentials[2]) {
  int reader = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  int size = send_buffer;
  struct ucred peer = {0};
  socklen_t length = sizeof peer;
  if (reader < 0) return -1;
  setsockopt(reader, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  getsockopt(reader, SOL_SOCKET, SO_PEERCRED, &peer, &length);
  credentials[0] = (uint32_t)peer.pid;
  credentials[1] = peer.uid;
  return reader;
}

int frame_ring_is_read(int reader) {
  int unread = 0;
  return ioctl(reader, SIOCOUTQ, &unread) != 0 || unread == 0;
}

int frame_ring_send(int reader, const struct rtp_recv_ring_datagram *datagram, int descriptor) {
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec vector = {(void *)datagram, sizeof *datagram};
  struct msghdr message;
  memset(&message, 0, sizeof message);
  memset(&control, 0, sizeof control);
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &descriptor, sizeof descriptor);
  }
  return sendmsg(reader, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
}
