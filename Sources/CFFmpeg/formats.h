// Containers: what only those need who read or write files that libavformat knows.
#ifndef CFFMPEG_FORMATS_H
#define CFFMPEG_FORMATS_H

#include <libavformat/avformat.h>

#endif
