// Many clients of one stream, who throw away what comes, at as little cost as can be.
//
// usage: rtsp-crowd tcp|udp CLIENTS PORT TARGET SECONDS. Prints `ready` when all of them play, and
// then how many bytes of media came in so many seconds; then it waits to be killed.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { most_events = 64, receive_buffer = 4 << 20 };

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Sends a request; returns the session in the answer's head, behind which media may have come.
static char *ask(int client, const char *request, char *answer, size_t size) {
  if (write(client, request, strlen(request)) < 0) fail("write");
  size_t filled = 0;
  answer[0] = 0;
  while (!memmem(answer, filled, "\r\n\r\n", 4)) {
    ssize_t count = read(client, answer + filled, size - 1 - filled);
    if (count <= 0) fail("read");
    filled += (size_t)count;
    answer[filled] = 0;
  }
  char *session = strstr(answer, "Session: ");
  if (strncmp(answer, "RTSP/1.0 200", 12) || !session) {
    fprintf(stderr, "%s", answer);
    exit(1);
  }
  session += strlen("Session: ");
  session[strcspn(session, ";\r\n")] = 0;
  return session;
}

// Opens a socket for media; the port above, which nobody else gets this way, is for reports.
static int bind_even_port(int *media) {
  for (;;) {
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof own;
    *media = socket(AF_INET, SOCK_DGRAM, 0);
    int size = receive_buffer;
    if (setsockopt(*media, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size))
      setsockopt(*media, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    if (bind(*media, (struct sockaddr *)&own, length) ||
        getsockname(*media, (struct sockaddr *)&own, &length))
      fail("bind");
    int port = ntohs(own.sin_port);
    if (port % 2 == 0) return port;
    close(*media);
  }
}

int main(int argc, char **argv) {
  if (argc != 6) return 64;
  int has_datagrams = !strcmp(argv[1], "udp"), clients = atoi(argv[2]);
  const char *target = argv[4];
  double seconds = atof(argv[5]);
  struct sockaddr_in server = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)atoi(argv[3])),
                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int poller = epoll_create1(0);
  for (int i = 0; i < clients; i++) {
    int client = socket(AF_INET, SOCK_STREAM, 0), media = client;
    if (connect(client, (struct sockaddr *)&server, sizeof server)) fail("connect");
    char transport[128] = "RTP/AVP/TCP;unicast;interleaved=0-1";
    if (has_datagrams) {
      int port = bind_even_port(&media);
      snprintf(transport, sizeof transport, "RTP/AVP;unicast;client_port=%d-%d", port, port + 1);
    }
    char request[1024], answer[65536];
    snprintf(request, sizeof request,
             "SETUP rtsp://127.0.0.1/%s RTSP/1.0\r\nCSeq: 1\r\nTransport: %s\r\n\r\n", target,
             transport);
    char *session = ask(client, request, answer, sizeof answer);
    char play[1024];
    snprintf(play, sizeof play, "PLAY rtsp://127.0.0.1/%s RTSP/1.0\r\nCSeq: 2\r\nSession: %s\r\n\r\n",
             target, session);
    ask(client, play, answer, sizeof answer);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = media};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, media, &event)) fail("epoll_ctl");
  }
  puts("ready");
  fflush(stdout);

  uint64_t bytes = 0;
  for (double end = now() + seconds; now() < end;) {
    struct epoll_event events[most_events];
    int count = epoll_wait(poller, events, most_events, 100);
    for (int i = 0; i < count; i++) {
      // Neither copies anything: of TCP it throws away that much, of UDP it says the length.
      ssize_t length = recv(events[i].data.fd, NULL, has_datagrams ? 0 : 1 << 20,
                            MSG_TRUNC | MSG_DONTWAIT);
      if (length == 0 && !has_datagrams) return 2;
      if (length > 0) bytes += (uint64_t)length;
    }
  }
  printf("%llu\n", (unsigned long long)bytes);
  fflush(stdout);
  pause();
}
