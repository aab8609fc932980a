// Sends the RTP packets of a file over and over at a steady rate, with continuing sequence numbers
// and timestamps.
//
// The file holds packets with a 4-byte big-endian length before each.
// usage: paced-sender FILE PORT PACKETS_PER_SECOND SECONDS; prints how many packets it sent.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { batch_limit = 64 };

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

int main(int argc, char **argv) {
  if (argc != 5) return 64;
  FILE *file = fopen(argv[1], "rb");
  if (!file) return 1;
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  rewind(file);
  unsigned char *bytes = malloc(size);
  if (!bytes || fread(bytes, 1, size, file) != size) return 1;
  size_t count = 0, capacity = 1024;
  struct iovec *packets = malloc(capacity * sizeof *packets);
  for (size_t at = 0; at + 4 <= size;) {
    size_t length = (size_t)bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
    at += 4;
    if (length < 12 || at + length > size) return 1;
    if (count == capacity) packets = realloc(packets, (capacity *= 2) * sizeof *packets);
    packets[count++] = (struct iovec){bytes + at, length};
    at += length;
  }
  if (count == 0) return 1;

  int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((unsigned short)atoi(argv[2])),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  if (connect(descriptor, (struct sockaddr *)&address, sizeof address)) return 1;
  double rate = atof(argv[3]);
  int64_t duration = (int64_t)(atof(argv[4]) * 1e9);

  uint16_t sequence = 1;
  uint32_t timestamp = 0;
  size_t next = 0;
  uint64_t sent = 0;
  int64_t start = now(), end = start + duration;
  struct mmsghdr headers[batch_limit];
  memset(headers, 0, sizeof headers);
  for (int64_t time = start; time < end; time = now()) {
    uint64_t due = (uint64_t)((double)(time - start) * rate / 1e9);
    if (sent >= due) {
      struct timespec pause = {0, 200000};
      clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
      continue;
    }
    int batch = 0;
    while (batch < batch_limit && sent + (uint64_t)batch < due) {
      unsigned char *packet = packets[next].iov_base;
      packet[2] = (unsigned char)(sequence >> 8);
      packet[3] = (unsigned char)sequence;
      packet[4] = (unsigned char)(timestamp >> 24);
      packet[5] = (unsigned char)(timestamp >> 16);
      packet[6] = (unsigned char)(timestamp >> 8);
      packet[7] = (unsigned char)timestamp;
      if (packet[1] & 0x80) timestamp += 3000;
      sequence++;
      headers[batch++].msg_hdr = (struct msghdr){.msg_iov = &packets[next], .msg_iovlen = 1};
      next = (next + 1) % count;
      // A packet may be in a batch only once, because its header is written in place.
      if (next == 0) break;
    }
    int done = sendmmsg(descriptor, headers, (unsigned)batch, 0);
    // A refusal means that nothing listens yet, or any more, which does not matter here.
    sent += (uint64_t)(done < batch ? batch : done);
  }
  printf("%llu\n", (unsigned long long)sent);
  return 0;
}
