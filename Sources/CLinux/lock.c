#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <time.h>

enum {
  // How often, every 10 ms, a lock is tried: a child that is just being started has a copy of the
  // descriptor until it runs its own program.
  attempts = 100
};

// Whether the file lies on a Windows share. A lock keeps readers out there, too (MS-SMB2
// §3.3.5.14), so that nobody could watch a recording that grows. The numbers are those of
// <linux/magic.h>, which lacks them on older systems.
static int lies_on_share(int descriptor) {
  struct statfs status;
  if (fstatfs(descriptor, &status) != 0) return 0;
  uint32_t type = (uint32_t)status.f_type;
  return type == 0xFF534D42 || type == 0xFE534D42;
}

int clinux_lock(int descriptor) {
  const struct timespec pause = {0, 10000000};
  if (lies_on_share(descriptor)) return 0;
  for (int attempt = 1; flock(descriptor, LOCK_EX | LOCK_NB) != 0; attempt++) {
    // Some file systems have no locks (ENOLCK, EOPNOTSUPP, EINVAL).
    if (errno != EWOULDBLOCK && errno != EINTR) return 0;
    if (attempt == attempts) return -1;
    nanosleep(&pause, NULL);
  }
  return 0;
}
