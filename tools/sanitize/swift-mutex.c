// Tells ThreadSanitizer when a Mutex of Swift's library is taken and given back.
//
// A mutex that nobody waits for is taken with an atomic operation, which is compiled into our code
// and seen. One that somebody waits for is taken and given back in libswiftSynchronization.so, which
// is not instrumented: then whatever the mutex protects looks like a race. These functions are
// linked in place of the library's, and call them.
//
// swift-mutex.swift beside shows both; tools/test --sanitize thread runs it first.

#include <dlfcn.h>
#include <stdint.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

// _MutexHandle._lockSlow(_: UInt32) and _MutexHandle._unlockSlow().
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef __attribute__((swiftcall)) void Lock(uint32_t, __attribute__((swift_context)) void *);
typedef __attribute__((swiftcall)) void Unlock(__attribute__((swift_context)) void *);

Lock lockSlow __asm__(LOCK);
Unlock unlockSlow __asm__(UNLOCK);

__attribute__((swiftcall)) void lockSlow(
    uint32_t thread, __attribute__((swift_context)) void *handle) {
  ((Lock *)dlsym(RTLD_NEXT, LOCK))(thread, handle);
  __tsan_acquire(handle);
}

__attribute__((swiftcall)) void unlockSlow(__attribute__((swift_context)) void *handle) {
  __tsan_release(handle);
  ((Unlock *)dlsym(RTLD_NEXT, UNLOCK))(handle);
}
