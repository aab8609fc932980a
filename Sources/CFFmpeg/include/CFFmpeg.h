// FFmpeg's libraries, which are loaded when the first of their functions is called.
//
// They are not linked: with theirs they are some ninety libraries, which cost every start 15 ms and
// every process 10 MB, also one that decodes nothing. load.c has their functions under their own
// names, so that they are called as if they were linked. What is not there is not for this module.
#ifndef CFFMPEG_H
#define CFFMPEG_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/audio_fifo.h>
#include <libavutil/avutil.h>
#include <libavutil/buffer.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/md5.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

// Loads what decoding takes; whether it is there. From any thread.
int cffmpeg_load(void);

// Why one of the libraries could not be loaded, or is not the one this program was built for: a
// sentence that names it. NULL if that did not happen yet. A library that is missing has functions
// that find nothing and fail. From any thread.
const char *cffmpeg_fault(void);

// Stops what the libraries write to standard error, also of those that are loaded later.
void cffmpeg_silence(void);

// What Swift cannot import from libav: function-like macros and unsigned-cast constants.
static inline int cffmpeg_error_again(void) { return AVERROR(EAGAIN); }
static inline int cffmpeg_error_end_of_file(void) { return AVERROR_EOF; }
static inline int cffmpeg_error_invalid_data(void) { return AVERROR_INVALIDDATA; }
static inline int cffmpeg_error_out_of_memory(void) { return AVERROR(ENOMEM); }
static inline int64_t cffmpeg_no_timestamp(void) { return AV_NOPTS_VALUE; }

#endif
