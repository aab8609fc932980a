// The least that a server of RTP can do: a picture is sent to each client by sendmsg when it is due,
// over TCP in one message, over UDP in one for each packet.
//
// It answers SETUP and PLAY without looking at anything but the client's port, makes no packets, and
// leaves nobody out who is slow. Whatever a real server costs above this is the price of being one.
// usage: bare-server tcp|udp CLIENTS PICTURES_PER_SECOND BYTES_PER_PICTURE; prints the port.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { most_clients = 1000, packet_size = 1412, frame_header = 4 };

static int connections[most_clients];
static struct sockaddr_in addresses[most_clients];

static void write_all(int client, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t done = write(client, bytes, length);
    if (done <= 0) exit(1);
    bytes += done;
    length -= (size_t)done;
  }
}

// Answers requests up to PLAY; returns the client's port for UDP.
static int welcome(int client, int has_datagrams, int own_port) {
  char request[8192], response[1024];
  size_t filled = 0;
  int port = 0;
  for (;;) {
    ssize_t count = read(client, request + filled, sizeof request - 1 - filled);
    if (count <= 0) exit(1);
    filled += (size_t)count;
    request[filled] = 0;
    char *end;
    while ((end = strstr(request, "\r\n\r\n"))) {
      const char *field = strstr(request, "client_port=");
      if (field) port = atoi(field + strlen("client_port="));
      int plays = !strncmp(request, "PLAY", 4);
      char transport[256] = "";
      if (has_datagrams)
        snprintf(transport, sizeof transport,
                 "RTP/AVP;unicast;client_port=%d-%d;server_port=%d-%d", port, port + 1, own_port,
                 own_port + 1);
      else
        snprintf(transport, sizeof transport, "RTP/AVP/TCP;unicast;interleaved=0-1");
      int length = snprintf(response, sizeof response,
                            "RTSP/1.0 200 OK\r\nCSeq: 1\r\nSession: 1\r\nTransport: %s\r\n\r\n",
                            transport);
      write_all(client, response, (size_t)length);
      if (plays) return port;
      filled -= (size_t)(end + 4 - request);
      memmove(request, end + 4, filled + 1);
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 5) return 64;
  int has_datagrams = !strcmp(argv[1], "udp"), clients = atoi(argv[2]);
  double rate = atof(argv[3]);
  size_t size = strtoul(argv[4], NULL, 10);
  if (clients < 1 || clients > most_clients || rate <= 0 || size < packet_size) return 64;
  signal(SIGPIPE, SIG_IGN);

  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 256) ||
      getsockname(listener, (struct sockaddr *)&address, &length))
    return 1;
  int port = ntohs(address.sin_port);
  int datagrams = socket(AF_INET, SOCK_DGRAM, 0);
  printf("%d\n", port);
  fflush(stdout);

  for (int i = 0; i < clients; i++) {
    length = sizeof address;
    connections[i] = accept(listener, (struct sockaddr *)&address, &length);
    if (connections[i] < 0) return 1;
    int one = 1;
    setsockopt(connections[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    addresses[i] = address;
    addresses[i].sin_port = htons((uint16_t)welcome(connections[i], has_datagrams, port));
  }

  // A picture in packets, which are framed for TCP.
  size_t count = (size + packet_size - 1) / packet_size;
  unsigned char *bytes = calloc(count, frame_header + packet_size);
  for (size_t i = 0; i < count; i++) {
    unsigned char *packet = bytes + i * (frame_header + packet_size);
    packet[0] = '$';
    packet[2] = packet_size >> 8;
    packet[3] = packet_size & 0xFF;
    packet[4] = 0x80;
  }
  struct timespec due;
  clock_gettime(CLOCK_MONOTONIC, &due);
  for (;;) {
    due.tv_nsec += (long)(1e9 / rate);
    if (due.tv_nsec >= 1000000000) {
      due.tv_nsec -= 1000000000;
      due.tv_sec++;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    for (int i = 0; i < clients; i++) {
      if (!has_datagrams) {
        struct iovec vector = {bytes, count * (frame_header + packet_size)};
        struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
        if (sendmsg(connections[i], &message, 0) < 0) return 0;
        continue;
      }
      for (size_t j = 0; j < count; j++) {
        struct iovec vector = {bytes + j * (frame_header + packet_size) + frame_header,
                               packet_size};
        struct msghdr message = {.msg_name = &addresses[i], .msg_namelen = sizeof addresses[i],
                                 .msg_iov = &vector, .msg_iovlen = 1};
        if (sendmsg(datagrams, &message, 0) < 0) return 0;
      }
    }
  }
}
