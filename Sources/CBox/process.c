#define _GNU_SOURCE
#include "CBox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int spawn(const char *executable, const char *argument, int theirs, pid_t *process) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (error) {
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }
  // Nothing that it writes reaches a terminal, and none of this process's descriptors reaches it.
  if (!error) error = posix_spawn_file_actions_adddup2(&actions, theirs, BOX_SOCKET);
  for (int number = 0; !error && number < 3; number++)
    error = posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0);
  if (!error) error = posix_spawn_file_actions_addclosefrom_np(&actions, BOX_SOCKET + 1);
  // Ctrl-C in a terminal is for this process, which still wants the last pictures.
  short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID;
  if (!error) error = posix_spawnattr_setflags(&attributes, flags);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  if (!error) error = posix_spawnattr_setsigdefault(&attributes, &all);
  if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
  // The environment may hold passwords.
  char *libraries = NULL, *environment[3] = {"SWIFT_BACKTRACE=enable=no"};
  const char *folders = getenv("LD_LIBRARY_PATH");
  if (folders) {
    size_t room = strlen("LD_LIBRARY_PATH=") + strlen(folders) + 1;
    libraries = malloc(room);
    if (libraries) {
      strcpy(libraries, "LD_LIBRARY_PATH=");
      strcat(libraries, folders);
      environment[1] = libraries;
    }
  }
  char *arguments[] = {"rtp-recv", (char *)argument, NULL};
  if (!error) error = posix_spawn(process, executable, &actions, &attributes, arguments, environment);
  free(libraries);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

int box_start(const char *executable, const char *argument, int *process, int *number) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  int error = spawn(executable, argument, ends[1], number);
  close(ends[1]);
  if (!error) {
    *process = pidfd_open(*number, 0);
    if (*process >= 0) return ends[0];
    error = errno;
    kill(*number, SIGKILL);
    waitpid(*number, NULL, 0);
  }
  close(ends[0]);
  errno = error;
  return -1;
}

int64_t box_processor_time(int number) {
  clockid_t clock;
  struct timespec time;
  if (clock_getcpuclockid(number, &clock) != 0 || clock_gettime(clock, &time) != 0) return -1;
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// The state of a thread, a letter as in proc(5), or 0.
static char state(int number, const char *thread) {
  char text[512], path[64 + NAME_MAX];
  snprintf(path, sizeof path, "/proc/%d/task/%s/stat", number, thread);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t count = read(file, text, sizeof text - 1);
  close(file);
  if (count <= 0) return 0;
  text[count] = 0;
  // The name before it may hold anything.
  const char *end = strrchr(text, ')');
  return end && end[1] == ' ' ? end[2] : 0;
}

int box_is_held_up(int number) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", number);
  DIR *threads = opendir(path);
  if (!threads) return -1;
  int found = 0;
  for (struct dirent *thread; !found && (thread = readdir(threads));) {
    if (thread->d_name[0] == '.') continue;
    char letter = state(number, thread->d_name);
    found = letter == 'R' || letter == 'D';
  }
  closedir(threads);
  return found;
}

int box_end(int process) {
  pidfd_send_signal(process, SIGKILL, NULL, 0);
  siginfo_t end = {0};
  int result;
  do result = waitid(P_PIDFD, process, &end, WEXITED);
  while (result < 0 && errno == EINTR);
  if (result < 0) {
    // Nobody can be waited for, but its descriptor is readable once it is gone.
    struct pollfd gone = {.fd = process, .events = POLLIN};
    while (poll(&gone, 1, -1) < 0 && errno == EINTR) {}
  }
  close(process);
  if (result < 0) return 0;
  return end.si_code == CLD_EXITED ? (end.si_status & 0xFF) << 8
                                   : end.si_status | (end.si_code == CLD_DUMPED ? 0x80 : 0);
}
