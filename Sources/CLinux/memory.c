#include "CLinux.h"

#include <malloc.h>

void clinux_keep_freed_memory(void) {
  // The most that glibc allows for the first.
  enum { most = 32 << 20 };
  mallopt(M_MMAP_THRESHOLD, most);
  mallopt(M_TRIM_THRESHOLD, most);
}
