// libsrtp2, and the system calls that keep secrets out of core dumps, which Swift does not import.
#ifndef CSRTP_H
#define CSRTP_H

#include <srtp2/srtp.h>
#include <sys/resource.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

// Forbids core dumps of this process, and other processes of the same user to read its memory.
static inline void csrtp_forbid_dumps(void) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
#ifdef __linux__
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

#endif
