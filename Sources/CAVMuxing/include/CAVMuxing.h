// libavformat's muxers, loaded when the first recording begins.
//
// libavformat is not linked: it brings some forty libraries, which cost every run 10 ms and 9 MB, also
// one that records nothing.
#ifndef CAVMUXING_H
#define CAVMUXING_H

#include <libavformat/avformat.h>

// The functions of libavformat that a recording needs, as its headers declare them.
struct cavmuxing_functions {
  int (*alloc_output_context)(AVFormatContext **context, const AVOutputFormat *format,
                              const char *name, const char *path);
  void (*free_context)(AVFormatContext *context);
  AVStream *(*new_stream)(AVFormatContext *context, const AVCodec *codec);
  int (*write_header)(AVFormatContext *context, AVDictionary **options);
  int (*write_frame)(AVFormatContext *context, AVPacket *packet);
  int (*write_trailer)(AVFormatContext *context);
  AVIOContext *(*alloc_io)(unsigned char *buffer, int size, int is_writing, void *opaque,
                           int (*read)(void *opaque, uint8_t *bytes, int count),
                           int (*write)(void *opaque, uint8_t *bytes, int count),
                           int64_t (*seek)(void *opaque, int64_t offset, int whence));
  void (*free_io)(AVIOContext **io);
};

// The functions, from the release of libavformat that this program was built for; loads it the first
// time. NULL if it cannot be loaded: cavmuxing_reason() says why. From any thread.
const struct cavmuxing_functions *cavmuxing_load(void);

// Why libavformat could not be loaded, and which file was looked for.
const char *cavmuxing_reason(void);
const char *cavmuxing_file(void);

#endif
