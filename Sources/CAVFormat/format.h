// libavformat, for reading files. A separate module, because it adds some forty libraries and
// 10 MB of resident memory to every program that links it.
#ifndef CAVFORMAT_H
#define CAVFORMAT_H

#include <libavformat/avformat.h>

#endif
