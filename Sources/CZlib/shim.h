// zlib, whose functions for beginning are macros, which Swift cannot import.
#ifndef CZLIB_H
#define CZLIB_H

#include <zlib.h>

// Begins to read the format of gzip alone (RFC 1952): 16 more than the bits of the window.
static inline int czlib_begin_gunzip(z_stream *stream) {
  return inflateInit2(stream, 15 + 16);
}

#endif
