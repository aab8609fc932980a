// Protects the RTP packets of a file with libsrtp2, over and over, and sends them at a steady rate;
// or receives such packets, unprotects them and copies their payloads, as the bare loop does.
//
// The file holds packets with a 4-byte big-endian length before each. The key consists of the bytes
// 0, 1, 2 … With the suite "none" the packets are unprotected.
// usage: srtp-loop FILE SUITE PORT PACKETS_PER_SECOND SECONDS
//          prints an empty line before the first packet, and at the end how many it sent
//        srtp-loop SUITE PORT
//          prints a line when it listens
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <srtp2/srtp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { room = 2048, trailer = 16 };

struct packet {
  int length;
  unsigned char bytes[room];
};

static int64_t now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static srtp_t session(const char *suite, srtp_ssrc_type_t direction) {
  static unsigned char key[64];
  for (unsigned char byte = 0; byte < sizeof key; byte++) key[byte] = byte;
  srtp_policy_t policy;
  memset(&policy, 0, sizeof policy);
  if (!strcmp(suite, "AES_CM_128_HMAC_SHA1_80")) {
    srtp_crypto_policy_set_rtp_default(&policy.rtp);
    srtp_crypto_policy_set_rtcp_default(&policy.rtcp);
  } else if (!strcmp(suite, "AEAD_AES_128_GCM")) {
    srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtp);
    srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtcp);
  } else {
    srtp_crypto_policy_set_aes_gcm_256_16_auth(&policy.rtp);
    srtp_crypto_policy_set_aes_gcm_256_16_auth(&policy.rtcp);
  }
  policy.ssrc.type = direction;
  policy.key = key;
  policy.window_size = 2304;
  srtp_t made;
  if (srtp_create(&made, &policy)) exit(1);
  return made;
}

// Makes the next packet of the stream, protected; sequence numbers and timestamps continue.
static void protect(srtp_t sender, const struct packet *source, struct packet *result) {
  static uint16_t sequence = 1;
  static uint32_t timestamp = 0;
  memcpy(result->bytes, source->bytes, (size_t)source->length);
  result->length = source->length;
  result->bytes[2] = (unsigned char)(sequence >> 8);
  result->bytes[3] = (unsigned char)sequence++;
  uint32_t time = htonl(timestamp);
  memcpy(result->bytes + 4, &time, 4);
  if (source->bytes[1] & 0x80) timestamp += 3000;
  if (sender && srtp_protect(sender, result->bytes, &result->length)) exit(2);
}

// The least that a receiver of SRTP can do: what it costs above the same without keys is libsrtp2's
// own cost, with caches that the kernel and the payloads have used meanwhile.
static int receive(const char *suite, const char *port) {
  enum { messages = 64, header_size = 14, frame_size = 8 << 20 };
  srtp_t receiver = strcmp(suite, "none") ? session(suite, ssrc_any_inbound) : NULL;
  int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
  int buffer_size = 4 << 20;
  if (setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &buffer_size, sizeof buffer_size))
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &buffer_size, sizeof buffer_size);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((unsigned short)atoi(port)),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  if (bind(descriptor, (struct sockaddr *)&address, sizeof address)) return 1;
  puts("ready");
  fflush(stdout);

  static struct packet packets[messages];
  unsigned char *frame = malloc(frame_size);
  if (!frame) return 1;
  size_t filled = 0;
  struct mmsghdr headers[messages];
  struct iovec vectors[messages];
  memset(headers, 0, sizeof headers);
  for (int index = 0; index < messages; index++) {
    vectors[index] = (struct iovec){packets[index].bytes, room};
    headers[index].msg_hdr = (struct msghdr){.msg_iov = &vectors[index], .msg_iovlen = 1};
  }
  for (;;) {
    int count = recvmmsg(descriptor, headers, messages, MSG_WAITFORONE, NULL);
    if (count < 0) return 1;
    for (int index = 0; index < count; index++) {
      struct packet *packet = &packets[index];
      packet->length = (int)headers[index].msg_len;
      if (receiver && srtp_unprotect(receiver, packet->bytes, &packet->length)) return 3;
      size_t length = (size_t)packet->length;
      if (length < header_size || filled + length > frame_size) continue;
      memcpy(frame + filled, packet->bytes + header_size, length - header_size);
      filled += length - header_size;
      if (packet->bytes[1] & 0x80) filled = 0;
    }
  }
}

int main(int argc, char **argv) {
  if ((argc != 3 && argc != 6) || srtp_init()) return 64;
  if (argc == 3) return receive(argv[1], argv[2]);
  FILE *file = fopen(argv[1], "rb");
  struct packet *packets = calloc(20000, sizeof *packets);
  if (!file || !packets) return 1;
  size_t count = 0;
  unsigned char prefix[4];
  while (count < 20000 && fread(prefix, 1, 4, file) == 4) {
    int length = prefix[0] << 24 | prefix[1] << 16 | prefix[2] << 8 | prefix[3];
    if (length < 12 || length > room - trailer) return 1;
    packets[count].length = length;
    if (fread(packets[count].bytes, 1, (size_t)length, file) != (size_t)length) return 1;
    count++;
  }
  if (!count) return 1;
  srtp_t sender = strcmp(argv[2], "none") ? session(argv[2], ssrc_any_outbound) : NULL;

  int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((unsigned short)atoi(argv[3])),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  if (connect(descriptor, (struct sockaddr *)&address, sizeof address)) return 1;
  double rate = atof(argv[4]), seconds = atof(argv[5]);
  uint64_t prepared = (uint64_t)(rate * seconds);
  struct packet *sealed = malloc(prepared * sizeof *sealed);
  if (!sealed) return 1;
  for (uint64_t index = 0; index < prepared; index++)
    protect(sender, &packets[index % count], &sealed[index]);
  printf("\n");
  fflush(stdout);
  int64_t start = now(CLOCK_MONOTONIC), end = start + (int64_t)(seconds * 1e9);
  uint64_t sent = 0;
  for (int64_t time = start; time < end; time = now(CLOCK_MONOTONIC)) {
    uint64_t due = (uint64_t)((double)(time - start) * rate / 1e9);
    if (sent >= due) {
      struct timespec pause = {0, 200000};
      nanosleep(&pause, NULL);
      continue;
    }
    // A refusal means that nothing listens yet, or any more, which does not matter here.
    for (int batch = 0; batch < 64 && sent < due && sent < prepared; batch++, sent++)
      (void)!send(descriptor, sealed[sent].bytes, (size_t)sealed[sent].length, 0);
  }
  printf("%llu\n", (unsigned long long)sent);
  return 0;
}
