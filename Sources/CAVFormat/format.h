// FFmpeg's libraries linked, for reading files and for encoders. A separate module, because they cost
// every program that links them a hundred libraries at its start.
#ifndef CAVFORMAT_H
#define CAVFORMAT_H

#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>

#endif
