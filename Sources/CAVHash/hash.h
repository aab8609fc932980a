// The hash functions of libavutil, for rtp-send and for tests: other ones than the receiver's, which
// they check.
#ifndef CAVHASH_H
#define CAVHASH_H

#include <libavutil/hash.h>

#endif
