// Takes many streams on every second port of loopback and throws them away, at as little cost as can
// be.
//
// usage: datagram-sink STREAMS WARM_UP SECONDS PICTURES. Prints the first port; `begin` when WARM_UP
// seconds have passed since the first datagram; and after SECONDS more what came in them: packets,
// bytes, how many streams had at least so many PICTURES, and what found no room in a socket.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// Below those that the kernel gives to others.
enum { first_port = 20000, last_port = 32000 };
// What the kernel says of a socket's memory; the last is what it dropped (linux/sock_diag.h).
enum { memory_fields = 9, memory_drops = 8 };
enum { most_events = 256, receive_buffer = 1 << 20, not_begun = 10 };

static int streams, *sockets;
static uint64_t packets, bytes, *pictures;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int open_socket(int port) {
  struct sockaddr_in own = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int descriptor = socket(AF_INET, SOCK_DGRAM, 0), size = receive_buffer;
  if (descriptor < 0) fail("socket");
  setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  if (!bind(descriptor, (struct sockaddr *)&own, sizeof own)) return descriptor;
  close(descriptor);
  return -1;
}

// Opens all sockets where every second port is free; returns the first one.
static int open_all(void) {
  for (int port = first_port; port + 2 * streams <= last_port; port += 2) {
    int count = 0;
    while (count < streams && (sockets[count] = open_socket(port + 2 * count)) >= 0) count++;
    if (count == streams) return port;
    while (count > 0) close(sockets[--count]);
  }
  fprintf(stderr, "no ports are free\n");
  exit(1);
}

// Takes what comes until `end`, and counts it; until the first datagram if that is sooner.
static void take(int poller, double end, int is_first_enough) {
  for (double time = now(); time < end; time = now()) {
    struct epoll_event events[most_events];
    int count = epoll_wait(poller, events, most_events, 1 + (int)((end - time) * 1000));
    for (int i = 0; i < count; i++) {
      int stream = (int)events[i].data.u32;
      unsigned char head[2];
      ssize_t length;
      // It says the length, and copies no more than that there is room for.
      while ((length = recv(sockets[stream], head, sizeof head, MSG_TRUNC | MSG_DONTWAIT)) >= 0) {
        packets++;
        bytes += (uint64_t)length;
        // The marker is on the last packet of a picture; RTCP has numbers of its own there.
        if (length >= 12 && head[1] >= 0x80 && (head[1] < 192 || head[1] > 223)) pictures[stream]++;
      }
    }
    if (is_first_enough && packets > 0) return;
  }
}

static uint64_t drops(void) {
  uint64_t sum = 0;
  for (int i = 0; i < streams; i++) {
    uint32_t memory[memory_fields] = {0};
    socklen_t length = sizeof memory;
    if (getsockopt(sockets[i], SOL_SOCKET, SO_MEMINFO, memory, &length)) fail("SO_MEMINFO");
    sum += memory[memory_drops];
  }
  return sum;
}

int main(int argc, char **argv) {
  if (argc != 5) return 64;
  streams = atoi(argv[1]);
  double warm_up = atof(argv[2]), seconds = atof(argv[3]);
  uint64_t wanted = (uint64_t)atoll(argv[4]);
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit)) fail("getrlimit");
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  sockets = calloc((size_t)streams, sizeof *sockets);
  pictures = calloc((size_t)streams, sizeof *pictures);
  if (!sockets || !pictures) return 1;
  int port = open_all(), poller = epoll_create1(0);
  for (int i = 0; i < streams; i++) {
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, sockets[i], &event)) fail("epoll_ctl");
  }
  printf("%d\n", port);
  fflush(stdout);

  take(poller, now() + not_begun, 1);
  if (packets == 0) return 1;
  take(poller, now() + warm_up, 0);
  packets = bytes = 0;
  memset(pictures, 0, (size_t)streams * sizeof *pictures);
  uint64_t dropped = drops();
  puts("begin");
  fflush(stdout);
  take(poller, now() + seconds, 0);
  int kept = 0;
  for (int i = 0; i < streams; i++) kept += pictures[i] >= wanted;
  printf("%llu %llu %d %llu\n", (unsigned long long)packets, (unsigned long long)bytes, kept,
         (unsigned long long)(drops() - dropped));
  return 0;
}
