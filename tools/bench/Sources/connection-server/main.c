// Serves the RTP packets of a file to any number of clients, in three ways: RTSP interleaved; the
// same bytes over HTTP, for a client that only writes them; and under /rtp as HTTP progressive,
// each packet after its length and in a chunk of its own.
//
// The file holds packets with a 4-byte big-endian length before each. They are sent over and over,
// with continuing sequence numbers and timestamps, as fast as the client reads or at a steady rate.
// usage: connection-server FILE SDP [PACKETS PACKETS_PER_SECOND]; with 0 packets a second they are
// sent as fast as they are read. Without both, each packet is sent once, as it is. Prints the port.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { batch_size = 64 << 10, frame_header = 4, longest_chunk_line = 16 };
enum framing { interleaved, chunked };

struct packet { unsigned char *bytes; size_t length; };

static struct packet *packets;
static size_t packet_count;

static unsigned char *load(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) exit(1);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  unsigned char *bytes = calloc(1, *size + 1);
  if (!bytes || fread(bytes, 1, *size, file) != *size) exit(1);
  fclose(file);
  return bytes;
}

static void load_packets(const char *path) {
  size_t size, capacity = 1024;
  unsigned char *bytes = load(path, &size);
  packets = malloc(capacity * sizeof *packets);
  for (size_t at = 0; at + 4 <= size;) {
    size_t length = (size_t)bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
    at += 4;
    if (length < 12 || at + length > size) exit(1);
    if (packet_count == capacity) packets = realloc(packets, (capacity *= 2) * sizeof *packets);
    packets[packet_count++] = (struct packet){bytes + at, length};
    at += length;
  }
  if (packet_count == 0) exit(1);
}

static int write_all(int client, const unsigned char *bytes, size_t length) {
  while (length > 0) {
    ssize_t done = write(client, bytes, length);
    if (done <= 0) return 0;
    bytes += done;
    length -= (size_t)done;
  }
  return 1;
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void play(int client, uint64_t total, double rate, enum framing framing) {
  int is_verbatim = total == 0;
  if (is_verbatim) total = packet_count;
  unsigned char *batch = malloc(batch_size);
  size_t filled = 0;
  uint16_t sequence = 1;
  uint32_t timestamp = 0;
  int64_t start = now();
  for (uint64_t sent = 0; sent < total; sent++) {
    const struct packet *packet = &packets[sent % packet_count];
    if (rate > 0) {
      int64_t due = start + (int64_t)((double)sent / rate * 1e9);
      int64_t wait = due - now();
      if (wait > 2000000) {
        if (!write_all(client, batch, filled)) return;
        filled = 0;
        struct timespec pause = {wait / 1000000000, wait % 1000000000};
        nanosleep(&pause, NULL);
      }
    }
    if (filled + longest_chunk_line + frame_header + packet->length > batch_size) {
      if (!write_all(client, batch, filled)) return;
      filled = 0;
    }
    if (framing == chunked)
      filled += (size_t)sprintf((char *)batch + filled, "%zx\r\n", frame_header + packet->length);
    unsigned char *at = batch + filled;
    at[0] = framing == chunked ? 0 : '$';
    at[1] = 0;
    at[2] = (unsigned char)(packet->length >> 8);
    at[3] = (unsigned char)packet->length;
    memcpy(at + frame_header, packet->bytes, packet->length);
    if (!is_verbatim) {
      at[6] = (unsigned char)(sequence >> 8);
      at[7] = (unsigned char)sequence;
      for (int i = 0; i < 4; i++) at[8 + i] = (unsigned char)(timestamp >> (24 - 8 * i));
    }
    if (at[5] & 0x80) timestamp += 3000;
    sequence++;
    filled += frame_header + packet->length;
    if (framing == chunked) {
      memcpy(batch + filled, "\r\n", 2);
      filled += 2;
    }
  }
  if (!write_all(client, batch, filled)) return;
  if (framing == chunked) write_all(client, (const unsigned char *)"0\r\n\r\n", 5);
}

static void serve(int client, const char *sdp, uint64_t total, double rate) {
  char request[8192];
  size_t filled = 0;
  for (;;) {
    ssize_t count = read(client, request + filled, sizeof request - 1 - filled);
    if (count <= 0) return;
    filled += (size_t)count;
    request[filled] = 0;
    char *end;
    while ((end = strstr(request, "\r\n\r\n"))) {
      char response[8192], extra[4096] = "";
      const char *field = strcasestr(request, "CSeq:");
      int sequence = field && field < end ? atoi(field + 5) : 0;
      int plays = !strncmp(request, "PLAY", 4), ends = !strncmp(request, "TEARDOWN", 8);
      if (!strncmp(request, "GET /", 5)) {
        enum framing framing = !strncmp(request, "GET /rtp", 8) ? chunked : interleaved;
        const char *head = framing == chunked
          ? "HTTP/1.1 200 OK\r\nContent-Type: video/rtp\r\nTransfer-Encoding: chunked\r\n\r\n"
          : "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
        if (write_all(client, (const unsigned char *)head, strlen(head)))
          play(client, total, rate, framing);
        return;
      }
      if (!strncmp(request, "OPTIONS", 7))
        strcpy(extra, "Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN, GET_PARAMETER\r\n");
      if (!strncmp(request, "DESCRIBE", 8))
        snprintf(extra, sizeof extra, "Content-Type: application/sdp\r\nContent-Length: %zu\r\n",
                 strlen(sdp));
      if (!strncmp(request, "SETUP", 5))
        strcpy(extra, "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\nSession: 1;timeout=60\r\n");
      if (plays) strcpy(extra, "Session: 1;timeout=60\r\n");
      int length = snprintf(response, sizeof response, "RTSP/1.0 200 OK\r\nCSeq: %d\r\n%s\r\n%s",
                            sequence, extra, !strncmp(request, "DESCRIBE", 8) ? sdp : "");
      if (!write_all(client, (unsigned char *)response, (size_t)length)) return;
      if (plays) play(client, total, rate, interleaved);
      if (plays || ends) return;
      filled -= (size_t)(end + 4 - request);
      memmove(request, end + 4, filled + 1);
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 5) return 64;
  load_packets(argv[1]);
  size_t size;
  const char *sdp = (const char *)load(argv[2], &size);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 256) ||
      getsockname(listener, (struct sockaddr *)&address, &length))
    return 1;
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  signal(SIGCHLD, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  for (;;) {
    int client = accept(listener, NULL, NULL);
    if (client < 0) return 1;
    if (fork() == 0) {
      close(listener);
      serve(client, sdp, argc > 3 ? strtoull(argv[3], NULL, 10) : 0, argc > 3 ? atof(argv[4]) : 0);
      // Data still in flight arrives before the connection ends.
      shutdown(client, SHUT_WR);
      char rest[4096];
      while (read(client, rest, sizeof rest) > 0) {
      }
      _exit(0);
    }
    close(client);
  }
}
