#define _GNU_SOURCE
#include "CBox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

// Not in the headers of every distribution that has the kernel for it.
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

// What Landlock can forbid, by the version of its interface: 13 rights to files in 1, renaming in 2,
// truncating in 3, TCP in 4, ioctl of devices in 5, abstract sockets and signals in 6.
struct landlock_rules {
  uint64_t files, network, scope;
};

static size_t rules_for(int version, struct landlock_rules *rules) {
  int bits = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;
  rules->files = (UINT64_C(1) << bits) - 1;
  rules->network = version >= 4 ? 3 : 0;
  rules->scope = version >= 6 ? 3 : 0;
  return version >= 6 ? 24 : version >= 4 ? 16 : 8;
}

// Forbids all files and connections; no path is allowed. Returns the version, 0 without it.
static int close_files(void) {
  // Flag 1 asks for the version.
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
  if (version < 1) return 0;
  struct landlock_rules rules;
  size_t size = rules_for((int)version, &rules);
  long set = syscall(SYS_landlock_create_ruleset, &rules, size, 0);
  if (set < 0) return 0;
  long result = syscall(SYS_landlock_restrict_self, (int)set, 0);
  close((int)set);
  return result == 0 ? (int)version : 0;
}

static int allow(scmp_filter_ctx filter, int call) {
  return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
}

static int allow_if(scmp_filter_ctx filter, int call, struct scmp_arg_cmp condition) {
  return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1, condition);
}

// What libavcodec with threads, glibc's malloc and the Swift runtime need once everything is loaded.
static int fill(scmp_filter_ctx filter) {
  static const int calls[] = {
    SCMP_SYS(brk), SCMP_SYS(clock_gettime), SCMP_SYS(close), SCMP_SYS(exit), SCMP_SYS(exit_group),
    SCMP_SYS(futex), SCMP_SYS(getpid), SCMP_SYS(getrandom), SCMP_SYS(gettid), SCMP_SYS(mremap),
    SCMP_SYS(munmap), SCMP_SYS(restart_syscall), SCMP_SYS(rseq), SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sched_yield),
    SCMP_SYS(set_robust_list), SCMP_SYS(setitimer),
  };
  for (size_t index = 0; index < sizeof calls / sizeof calls[0]; index++)
    if (allow(filter, calls[index]) != 0) return -1;

  // Memory that can be executed would be code that nobody brought along.
  struct scmp_arg_cmp no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
  if (allow_if(filter, SCMP_SYS(mmap), no_code) != 0) return -1;
  if (allow_if(filter, SCMP_SYS(mprotect), no_code) != 0) return -1;
  // Not MADV_REMOVE, which would take the pages of shared memory away from the other side.
  static const int advice[] = {MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE};
  for (size_t index = 0; index < sizeof advice / sizeof advice[0]; index++)
    if (allow_if(filter, SCMP_SYS(madvise), SCMP_A2(SCMP_CMP_EQ, advice[index])) != 0) return -1;

  if (allow_if(filter, SCMP_SYS(recvmsg), SCMP_A0(SCMP_CMP_EQ, BOX_SOCKET)) != 0) return -1;
  if (allow_if(filter, SCMP_SYS(sendmsg), SCMP_A0(SCMP_CMP_EQ, BOX_SOCKET)) != 0) return -1;

  // Threads, but no processes and no namespaces. The flags of clone3 lie in memory, where a filter
  // cannot look; glibc takes clone where that does not exist.
  uint64_t kinds = CLONE_THREAD | CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS |
                   CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS;
  struct scmp_arg_cmp thread = SCMP_A0(SCMP_CMP_MASKED_EQ, kinds, CLONE_THREAD);
  if (allow_if(filter, SCMP_SYS(clone), thread) != 0) return -1;
  if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) != 0) return -1;
  // Names of threads and of memory.
  if (allow_if(filter, SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME)) != 0) return -1;
  if (allow_if(filter, SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_VMA)) != 0) return -1;
  // abort(3), but no signals to others.
  struct scmp_arg_cmp itself = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid());
  return allow_if(filter, SCMP_SYS(tgkill), itself);
}

// Refuses all system calls but those: what is refused fails as without permission, so that each wall
// can be tried. Calls of another architecture end the process.
static int close_system(void) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  if (!filter) return 0;
  int is_closed = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0 &&
                  seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) == 0 && fill(filter) == 0 &&
                  seccomp_load(filter) == 0;
  seccomp_release(filter);
  return is_closed;
}

static void limit(int resource, rlim_t most) {
  struct rlimit bounds = {most, most};
  setrlimit(resource, &bounds);
}

static void drop_capabilities(void) {
  struct {
    uint32_t version;
    int process;
  } header = {0x20080522, 0};
  struct {
    uint32_t effective, permitted, inheritable;
  } none[2] = {0};
  syscall(SYS_capset, &header, none);
}

static int is_refused(long result) { return result < 0 && errno == EPERM; }

// Tries what the filter must refuse, in ways that do no harm where it does not.
static const char *leak_of_filter(void) {
  if (!is_refused(syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY))) return "open";
  if (!is_refused(syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0))) return "socket";
  if (!is_refused(syscall(SYS_connect, BOX_SOCKET, NULL, 0))) return "connect";
  // There is no program without a name.
  if (!is_refused(syscall(SYS_execve, "", NULL, NULL))) return "execve";
  // These flags contradict each other.
  if (!is_refused(syscall(SYS_clone, CLONE_SIGHAND, NULL, NULL, NULL, NULL))) return "clone";
  if (!is_refused(syscall(SYS_unshare, 0))) return "unshare";
  if (!is_refused(syscall(SYS_ptrace, 0x4206, 0, 0, 0))) return "ptrace";
  if (!is_refused(syscall(SYS_kill, getpid(), 0))) return "kill";
  void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code != MAP_FAILED || errno != EPERM) return "mmap of code";
  return NULL;
}

int box_leave_namespaces(void) { return unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) == 0; }

struct box_walls box_build_walls(uint64_t memory_limit) {
  struct box_walls walls = {0};
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_MEMLOCK, 0);
  // The socket, and one descriptor of memory on its way.
  limit(RLIMIT_NOFILE, BOX_SOCKET + 8);
  // What it may write to. RLIMIT_AS would count what malloc only reserves.
  limit(RLIMIT_DATA, memory_limit);
  // A process of root has rights, and one in a namespace of its own has them there.
  drop_capabilities();
  walls.no_new_privileges = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  if (!walls.no_new_privileges) return walls;
  walls.landlock = close_files();
  if (walls.landlock) {
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
      close(file);
      walls.leak = "Landlock";
    }
  }
  walls.filter = close_system();
  if (walls.filter && !walls.leak) walls.leak = leak_of_filter();
  return walls;
}

int box_lacks_memory(void) {
  size_t size = 16 << 20;
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  munmap(memory, size);
  return 0;
}

void box_end_in(int seconds) {
  struct itimerval time = {{0, 0}, {seconds, 0}};
  setitimer(ITIMER_REAL, &time, NULL);
}
