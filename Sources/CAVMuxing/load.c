#include "CAVMuxing.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#ifdef __APPLE__
#define FILE_NAME "libavformat." TEXT(LIBAVFORMAT_VERSION_MAJOR) ".dylib"
#else
#define FILE_NAME "libavformat.so." TEXT(LIBAVFORMAT_VERSION_MAJOR)
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct cavmuxing_functions functions;
static int is_loaded;
static char reason[512];

static void *symbol(void *library, const char *name) {
  void *address = dlsym(library, name);
  if (!address) snprintf(reason, sizeof reason, "it has no function %s", name);
  return address;
}

static void load(void) {
  void *library = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *words = dlerror();
    snprintf(reason, sizeof reason, "%s", words ? words : "unknown");
    return;
  }
  is_loaded =
      (functions.alloc_output_context = symbol(library, "avformat_alloc_output_context2")) &&
      (functions.free_context = symbol(library, "avformat_free_context")) &&
      (functions.new_stream = symbol(library, "avformat_new_stream")) &&
      (functions.write_header = symbol(library, "avformat_write_header")) &&
      (functions.write_frame = symbol(library, "av_write_frame")) &&
      (functions.write_trailer = symbol(library, "av_write_trailer")) &&
      (functions.alloc_io = symbol(library, "avio_alloc_context")) &&
      (functions.free_io = symbol(library, "avio_context_free"));
}

const struct cavmuxing_functions *cavmuxing_load(void) {
  pthread_once(&once, load);
  return is_loaded ? &functions : NULL;
}

const char *cavmuxing_reason(void) { return reason; }

const char *cavmuxing_file(void) { return FILE_NAME; }
