// zlib, whose initializers are macros, which Swift cannot import.
#ifndef CZLIB_H
#define CZLIB_H

#include <zlib.h>

// Begins to read gzip only (RFC 1952), which is 16 plus the bits of the window.
static inline int czlib_begin_gunzip(z_stream *stream) {
  return inflateInit2(stream, 15 + 16);
}

#endif
