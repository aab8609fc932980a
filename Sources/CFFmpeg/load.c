#include "CFFmpeg.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#ifdef __APPLE__
#define FILE_NAME(name, major) name "." TEXT(major) ".dylib"
#else
#define FILE_NAME(name, major) name ".so." TEXT(major)
#endif

struct library {
  const char *file;
  // The function that says its version, and the version of the headers.
  const char *version;
  unsigned built_for;
  void *handle;
  // Why it is not there.
  char fault[256];
};

#define LIBRARY(name, NAME) \
  {FILE_NAME("lib" #name, NAME##_VERSION_MAJOR), #name "_version", NAME##_VERSION_INT}
static struct library avutil = LIBRARY(avutil, LIBAVUTIL);
static struct library avcodec = LIBRARY(avcodec, LIBAVCODEC);
static struct library avformat = LIBRARY(avformat, LIBAVFORMAT);
static struct library swresample = LIBRARY(swresample, LIBSWRESAMPLE);
static struct library swscale = LIBRARY(swscale, LIBSWSCALE);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int is_silent;
static int is_ending;

// A library promises to work with what was built for an older minor version of it, and not for a newer
// one: libavcodec.so.59 of FFmpeg 5.0 lacks the channel layouts that that of 5.1 has.
static int is_too_old(struct library *library) {
  unsigned (*find_version)(void) = dlsym(library->handle, library->version);
  unsigned version = find_version ? find_version() : 0;
  if (version >> 8 >= library->built_for >> 8) return 0;
  snprintf(library->fault, sizeof library->fault,
           "%s is version %u.%u, and older than %u.%u, for which this program was built",
           library->file, version >> 16, version >> 8 & 0xFF, library->built_for >> 16,
           library->built_for >> 8 & 0xFF);
  return 1;
}

// This and what follows is called under the mutex.
static void open_library(struct library *library) {
  if (library->handle || library->fault[0]) return;
  library->handle = dlopen(library->file, RTLD_LAZY | RTLD_LOCAL);
  if (library->handle && !is_too_old(library)) return;
  if (library->handle) {
    dlclose(library->handle);
    library->handle = NULL;
    return;
  }
  // They begin with the name of the file.
  const char *words = dlerror();
  snprintf(library->fault, sizeof library->fault, "%s", words ? words : library->file);
}

static void silence(void) {
  void (*set_level)(int) = avutil.handle ? dlsym(avutil.handle, "av_log_set_level") : NULL;
  if (set_level && is_silent) set_level(AV_LOG_QUIET);
}

// A process that ends waits for a library that is being loaded, and for no further one: once
// libraries are finalized, dlopen would initialize again those that it needs, and libgomp aborts.
static void stop_loading(void) {
  pthread_mutex_lock(&mutex);
  is_ending = 1;
  pthread_mutex_unlock(&mutex);
}

// All others need libavutil, which is silent before they say something.
static void load(struct library *library) {
  static int is_prepared;
  if (!is_prepared) is_prepared = !atexit(stop_loading);
  if (is_ending) return;
  if (!avutil.handle) {
    open_library(&avutil);
    silence();
  }
  open_library(library);
}

static void *find(struct library *library, const char *name) {
  pthread_mutex_lock(&mutex);
  load(library);
  void *address = library->handle ? dlsym(library->handle, name) : NULL;
  pthread_mutex_unlock(&mutex);
  return address;
}

static const char *load_all(struct library *libraries[], int count) {
  pthread_mutex_lock(&mutex);
  const char *fault = NULL;
  for (int index = 0; index < count && !fault; index++) {
    load(libraries[index]);
    if (!libraries[index]->handle) fault = libraries[index]->fault;
  }
  pthread_mutex_unlock(&mutex);
  return fault;
}

const char *cffmpeg_load_decoding(void) {
  struct library *libraries[] = {&avutil, &avcodec, &swresample, &swscale};
  return load_all(libraries, 4);
}

const char *cffmpeg_load_frames(void) {
  struct library *libraries[] = {&avutil};
  return load_all(libraries, 1);
}

const char *cffmpeg_load_recording(void) {
  struct library *libraries[] = {&avutil, &avcodec, &avformat};
  return load_all(libraries, 3);
}

void cffmpeg_silence(void) {
  pthread_mutex_lock(&mutex);
  is_silent = 1;
  silence();
  pthread_mutex_unlock(&mutex);
}

// A function under its own name, which passes its arguments on to the library's; `otherwise` is what it
// returns without the library. The compiler holds it to the declaration in the library's header. It
// cannot be seen from outside, so a program that links the library as well has both.
#define PASS(library, result, name, parameters, arguments, otherwise) \
  __attribute__((visibility("hidden"))) result name parameters { \
    static _Atomic(__typeof__(&name)) known; \
    __typeof__(&name) function = atomic_load_explicit(&known, memory_order_relaxed); \
    if (!function) { \
      function = (__typeof__(&name))find(&library, #name); \
      atomic_store_explicit(&known, function, memory_order_relaxed); \
    } \
    if (function) return function arguments; \
    return otherwise; \
  }
#define NOTHING
#define FAILURE AVERROR(ENOSYS)

// FFmpeg 7 has more of what is pointed at constant.
#if LIBAVUTIL_VERSION_MAJOR >= 59
#define CONST_IN_7 const
#else
#define CONST_IN_7
#endif

PASS(avutil, AVAudioFifo *, av_audio_fifo_alloc, (enum AVSampleFormat format, int channels, int size),
     (format, channels, size), NULL)
PASS(avutil, void, av_audio_fifo_free, (AVAudioFifo *fifo), (fifo), NOTHING)
PASS(avutil, int, av_audio_fifo_read, (AVAudioFifo *fifo, void *CONST_IN_7 *data, int count),
     (fifo, data, count), FAILURE)
PASS(avutil, int, av_audio_fifo_size, (AVAudioFifo *fifo), (fifo), 0)
PASS(avutil, int, av_audio_fifo_write, (AVAudioFifo *fifo, void *CONST_IN_7 *data, int count),
     (fifo, data, count), FAILURE)
PASS(avutil, AVBufferRef *, av_buffer_create,
     (uint8_t *data, size_t size, void (*release)(void *opaque, uint8_t *data), void *opaque, int flags),
     (data, size, release, opaque, flags), NULL)
PASS(avutil, AVBufferRef *, av_buffer_pool_get, (AVBufferPool *pool), (pool), NULL)
PASS(avutil, AVBufferPool *, av_buffer_pool_init, (size_t size, AVBufferRef *(*allocate)(size_t)),
     (size, allocate), NULL)
PASS(avutil, void, av_buffer_pool_uninit, (AVBufferPool **pool), (pool), NOTHING)
PASS(avutil, int, av_channel_layout_copy, (AVChannelLayout *copy, const AVChannelLayout *layout),
     (copy, layout), FAILURE)
PASS(avutil, void, av_channel_layout_default, (AVChannelLayout *layout, int channels),
     (layout, channels), NOTHING)
PASS(avutil, void, av_dict_free, (AVDictionary **entries), (entries), NOTHING)
PASS(avutil, int, av_dict_set,
     (AVDictionary **entries, const char *key, const char *value, int flags),
     (entries, key, value, flags), FAILURE)
PASS(avutil, AVFrame *, av_frame_alloc, (void), (), NULL)
PASS(avutil, int, av_frame_apply_cropping, (AVFrame *frame, int flags), (frame, flags), FAILURE)
PASS(avutil, AVFrame *, av_frame_clone, (const AVFrame *frame), (frame), NULL)
PASS(avutil, void, av_frame_free, (AVFrame **frame), (frame), NOTHING)
PASS(avutil, int, av_frame_get_buffer, (AVFrame *frame, int alignment), (frame, alignment), FAILURE)
PASS(avutil, int, av_frame_ref, (AVFrame *reference, const AVFrame *frame), (reference, frame),
     FAILURE)
PASS(avutil, void, av_frame_unref, (AVFrame *frame), (frame), NOTHING)
PASS(avutil, void, av_free, (void *memory), (memory), NOTHING)
PASS(avutil, enum AVSampleFormat, av_get_packed_sample_fmt, (enum AVSampleFormat format), (format),
     AV_SAMPLE_FMT_NONE)
PASS(avutil, int, av_image_fill_linesizes,
     (int strides[4], enum AVPixelFormat format, int width), (strides, format, width), FAILURE)
PASS(avutil, int, av_image_fill_plane_sizes,
     (size_t sizes[4], enum AVPixelFormat format, int height, const ptrdiff_t strides[4]),
     (sizes, format, height, strides), FAILURE)
PASS(avutil, const char *, av_get_pix_fmt_name, (enum AVPixelFormat format), (format), NULL)
PASS(avutil, void *, av_malloc, (size_t size), (size), NULL)
PASS(avutil, void *, av_mallocz, (size_t size), (size), NULL)
PASS(avutil, struct AVMD5 *, av_md5_alloc, (void), (), NULL)
PASS(avutil, void, av_md5_final, (struct AVMD5 *md5, uint8_t *digest), (md5, digest), NOTHING)
PASS(avutil, void, av_md5_init, (struct AVMD5 *md5), (md5), NOTHING)
PASS(avutil, void, av_md5_update, (struct AVMD5 *md5, const uint8_t *bytes, size_t count),
     (md5, bytes, count), NOTHING)
PASS(avutil, int, av_opt_set, (void *object, const char *name, const char *value, int flags),
     (object, name, value, flags), FAILURE)
PASS(avutil, int, av_opt_set_int, (void *object, const char *name, int64_t value, int flags),
     (object, name, value, flags), FAILURE)
PASS(avutil, int, av_pix_fmt_count_planes, (enum AVPixelFormat format), (format), FAILURE)
PASS(avutil, const AVPixFmtDescriptor *, av_pix_fmt_desc_get, (enum AVPixelFormat format), (format),
     NULL)
PASS(avutil, int, av_sample_fmt_is_planar, (enum AVSampleFormat format), (format), 0)
PASS(avutil, int, av_strerror, (int error, char *text, size_t size), (error, text, size), FAILURE)

PASS(avcodec, int, av_get_bits_per_sample, (enum AVCodecID codec), (codec), 0)
PASS(avcodec, int, av_new_packet, (AVPacket *packet, int size), (packet, size), FAILURE)
PASS(avcodec, AVPacket *, av_packet_alloc, (void), (), NULL)
PASS(avcodec, void, av_packet_free, (AVPacket **packet), (packet), NOTHING)
PASS(avcodec, void, av_packet_rescale_ts, (AVPacket *packet, AVRational from, AVRational to),
     (packet, from, to), NOTHING)
PASS(avcodec, void, av_packet_unref, (AVPacket *packet), (packet), NOTHING)
PASS(avcodec, void, avcodec_align_dimensions2,
     (AVCodecContext *context, int *width, int *height, int alignments[AV_NUM_DATA_POINTERS]),
     (context, width, height, alignments), NOTHING)
PASS(avcodec, AVCodecContext *, avcodec_alloc_context3, (const AVCodec *codec), (codec), NULL)
PASS(avcodec, int, avcodec_default_get_buffer2,
     (AVCodecContext *context, AVFrame *frame, int flags), (context, frame, flags), FAILURE)
PASS(avcodec, const AVCodec *, avcodec_find_decoder_by_name, (const char *name), (name), NULL)
PASS(avcodec, const AVCodec *, avcodec_find_encoder_by_name, (const char *name), (name), NULL)
PASS(avcodec, void, avcodec_flush_buffers, (AVCodecContext *context), (context), NOTHING)
PASS(avcodec, void, avcodec_free_context, (AVCodecContext **context), (context), NOTHING)
PASS(avcodec, int, avcodec_open2,
     (AVCodecContext *context, const AVCodec *codec, AVDictionary **options),
     (context, codec, options), FAILURE)
PASS(avcodec, int, avcodec_receive_frame, (AVCodecContext *context, AVFrame *frame),
     (context, frame), FAILURE)
PASS(avcodec, int, avcodec_receive_packet, (AVCodecContext *context, AVPacket *packet),
     (context, packet), FAILURE)
PASS(avcodec, int, avcodec_send_frame, (AVCodecContext *context, const AVFrame *frame),
     (context, frame), FAILURE)
PASS(avcodec, int, avcodec_send_packet, (AVCodecContext *context, const AVPacket *packet),
     (context, packet), FAILURE)

// What a recording takes.
PASS(avformat, int, avformat_alloc_output_context2,
     (AVFormatContext **context, const AVOutputFormat *format, const char *name, const char *path),
     (context, format, name, path), FAILURE)
PASS(avformat, void, avformat_free_context, (AVFormatContext *context), (context), NOTHING)
PASS(avformat, AVStream *, avformat_new_stream, (AVFormatContext *context, const AVCodec *codec),
     (context, codec), NULL)
PASS(avformat, int, avformat_write_header, (AVFormatContext *context, AVDictionary **options),
     (context, options), FAILURE)
PASS(avformat, int, av_write_frame, (AVFormatContext *context, AVPacket *packet), (context, packet),
     FAILURE)
PASS(avformat, int, av_write_trailer, (AVFormatContext *context), (context), FAILURE)
PASS(avformat, AVIOContext *, avio_alloc_context,
     (unsigned char *buffer, int size, int is_writing, void *opaque,
      int (*read)(void *, uint8_t *, int), int (*write)(void *, CONST_IN_7 uint8_t *, int),
      int64_t (*seek)(void *, int64_t, int)),
     (buffer, size, is_writing, opaque, read, write, seek), NULL)
PASS(avformat, void, avio_context_free, (AVIOContext **io), (io), NOTHING)

PASS(swresample, int, swr_alloc_set_opts2,
     (struct SwrContext **context, CONST_IN_7 AVChannelLayout *out_layout,
      enum AVSampleFormat out_format, int out_rate, CONST_IN_7 AVChannelLayout *in_layout,
      enum AVSampleFormat in_format, int in_rate, int log_offset, void *log),
     (context, out_layout, out_format, out_rate, in_layout, in_format, in_rate, log_offset, log),
     FAILURE)
PASS(swresample, int, swr_convert,
     (struct SwrContext *context, uint8_t *CONST_IN_7 *out, int out_count,
      const uint8_t *CONST_IN_7 *in, int in_count),
     (context, out, out_count, in, in_count), FAILURE)
PASS(swresample, void, swr_free, (struct SwrContext **context), (context), NOTHING)
PASS(swresample, int, swr_get_out_samples, (struct SwrContext *context, int in_count),
     (context, in_count), FAILURE)
PASS(swresample, int, swr_init, (struct SwrContext *context), (context), FAILURE)

PASS(swscale, struct SwsContext *, sws_alloc_context, (void), (), NULL)
PASS(swscale, void, sws_freeContext, (struct SwsContext *context), (context), NOTHING)
PASS(swscale, const int *, sws_getCoefficients, (int colorspace), (colorspace), NULL)
PASS(swscale, int, sws_init_context,
     (struct SwsContext *context, SwsFilter *source, SwsFilter *target), (context, source, target),
     FAILURE)
PASS(swscale, int, sws_scale,
     (struct SwsContext *context, const uint8_t *const source[], const int source_stride[], int row,
      int rows, uint8_t *const target[], const int target_stride[]),
     (context, source, source_stride, row, rows, target, target_stride), FAILURE)
PASS(swscale, int, sws_setColorspaceDetails,
     (struct SwsContext *context, const int source[4], int source_range, const int target[4],
      int target_range, int brightness, int contrast, int saturation),
     (context, source, source_range, target, target_range, brightness, contrast, saturation),
     FAILURE)
