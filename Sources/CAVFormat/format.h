// libavformat, for those who read files. It is a module of its own, because it brings some forty
// libraries, and 10 MB resident, into every program that links it.
#ifndef CAVFORMAT_H
#define CAVFORMAT_H

#include <libavformat/avformat.h>

#endif
