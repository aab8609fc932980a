#include "CLinux.h"

#include <malloc.h>

void clinux_keep_freed_memory(void) {
  // The most that glibc allows for the first.
  enum { most = 32 << 20 };
  mallopt(M_MMAP_THRESHOLD, most);
  mallopt(M_TRIM_THRESHOLD, most);
  // Each arena keeps its own: with eight for each processor, as glibc has it, what threads free in one
  // and others want in another adds up for hours.
  mallopt(M_ARENA_MAX, 2);
}
