// What a decoder in a process of its own needs of Linux that Swift does not import: the process, the
// socket between the two, sealed memory, and the walls.
#ifndef CBOX_H
#define CBOX_H

#include <stddef.h>
#include <stdint.h>

// The child's end of the socket.
enum { BOX_SOCKET = 3 };

// Starts `executable` with `argument`, nothing of the environment but where libraries are, standard
// input, output and error on /dev/null, and a socket as descriptor BOX_SOCKET. Returns this side's
// end, and a descriptor of the process (pidfd) and its number, or -1 with errno.
int box_start(const char *executable, const char *argument, int *process, int *number);

// The processor time in nanoseconds that the process of that number has used, or -1.
int64_t box_processor_time(int number);

// Whether one of its threads computes, or waits for a processor or a disk: 1, 0, or -1 if that cannot
// be told.
int box_is_held_up(int number);

// Kills the process, waits for its end and closes its descriptor. Returns its status as wait(2) has
// it; 0 where this program ignores SIGCHLD, so that nobody knows.
int box_end(int process);

// Sends one message, with a descriptor unless that is -1. Returns 0, or -1 with errno: EAGAIN if there is
// no room and `waits` is 0.
int box_send(int socket, const void *bytes, size_t count, int descriptor, int waits);

// Waits for one message, not longer than so many milliseconds unless that is -1. `descriptor` gets the
// one that came along, or -1. Returns its length, 0 at the end, or -1 with errno: ETIMEDOUT, or
// EMSGSIZE for one beyond `capacity`.
ptrdiff_t box_receive(int socket, void *bytes, size_t capacity, int *descriptor, int milliseconds);

// Memory that both sides can map, of a size that neither can change. With `for_both` the other side may
// write, and this one only maps it to read. Returns a descriptor and maps it, or -1 with errno.
int box_memory(size_t size, int for_both, void **memory);

// Maps memory that came over the socket, and closes its descriptor; NULL with errno.
void *box_map(int descriptor, size_t size, int writable);

void box_unmap(void *memory, size_t size);

// MARK: - In the child

// What stands around the process.
struct box_walls {
  // No program that it could start gains rights.
  int no_new_privileges;
  // Files cannot be opened: the version of Landlock's interface, 0 without it.
  int landlock;
  // System calls are filtered.
  int filter;
  // It has namespaces of its own for users and networks, where that is allowed.
  int namespaces;
  // The first wall that does not hold although it could be built; NULL if they all do.
  const char *leak;
};

// Leaves the network and the users of the system, where that is allowed. Call it while there is one
// thread; returns whether it is so.
int box_leave_namespaces(void);

// Builds the walls, for all threads, and tries each of them. From then on the process has what it has:
// memory up to a limit in bytes, and the socket.
struct box_walls box_build_walls(uint64_t memory_limit);

// Whether hardly any memory is left up to the limit.
int box_lacks_memory(void);

// Ends the process in so many seconds; 0 takes it back. If the other side dies, nobody else would.
void box_end_in(int seconds);

#endif
