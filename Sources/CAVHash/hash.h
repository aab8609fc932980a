// The hash functions of libavutil, for HTTP digest authentication: it is linked anyway, and unlike
// swift-crypto it has MD5, SHA-256 and SHA-512/256.
#ifndef CAVHASH_H
#define CAVHASH_H

#include <libavutil/hash.h>

#endif
