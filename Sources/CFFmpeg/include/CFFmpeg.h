// FFmpeg's libraries, which are loaded when the first of their functions is called.
//
// They are not linked: with those that they need they are some ninety, which cost every start 20 ms,
// also that of a program that decodes nothing. load.c has the functions that this package calls, under
// their own names; another one is added there. Where its library is missing, a function does nothing
// and fails.
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

// Loads what decoding takes, what decoded frames take, or what recording takes: NULL, or why one of the libraries cannot be
// loaded, in words that name it. From any thread.
const char *cffmpeg_load_decoding(void);
const char *cffmpeg_load_frames(void);
const char *cffmpeg_load_recording(void);

// Stops what the libraries write to standard error, also of those that are loaded later.
void cffmpeg_silence(void);

// What Swift cannot import from libav: function-like macros and unsigned-cast constants.
static inline int cffmpeg_error_again(void) { return AVERROR(EAGAIN); }
static inline int cffmpeg_error_end_of_file(void) { return AVERROR_EOF; }
static inline int cffmpeg_error_invalid_data(void) { return AVERROR_INVALIDDATA; }
static inline int cffmpeg_error_out_of_memory(void) { return AVERROR(ENOMEM); }
static inline int64_t cffmpeg_no_timestamp(void) { return AV_NOPTS_VALUE; }

#endif
