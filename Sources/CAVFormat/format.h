// libavformat, for those who read files: a receiver does not link what it never runs.
#ifndef CAVFORMAT_H
#define CAVFORMAT_H

#include <libavformat/avformat.h>

#endif
