// The least a receiver of RTP can do: recvmmsg, copy the payloads, write them once a frame.
//
// It neither checks nor orders anything. Whatever a real receiver costs above this is the price of
// being correct. usage: bare-loop PORT OUTPUT
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { messages = 64, message_size = 2048, frame_size = 8 << 20, header_size = 14 };

int main(int argc, char **argv) {
  if (argc != 3) return 64;
  int socket_descriptor = socket(AF_INET, SOCK_DGRAM, 0);
  int buffer_size = 4 << 20;
  if (setsockopt(socket_descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &buffer_size, sizeof buffer_size))
    setsockopt(socket_descriptor, SOL_SOCKET, SO_RCVBUF, &buffer_size, sizeof buffer_size);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((unsigned short)atoi(argv[1])),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  if (bind(socket_descriptor, (struct sockaddr *)&address, sizeof address)) return 1;
  int output = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (output < 0) return 1;
  puts("ready");
  fflush(stdout);

  static unsigned char packets[messages][message_size];
  unsigned char *frame = malloc(frame_size);
  size_t filled = 0;
  struct mmsghdr headers[messages];
  struct iovec vectors[messages];
  for (int i = 0; i < messages; i++) {
    vectors[i] = (struct iovec){packets[i], message_size};
    headers[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &vectors[i], .msg_iovlen = 1}};
  }
  for (;;) {
    int count = recvmmsg(socket_descriptor, headers, messages, MSG_WAITFORONE, NULL);
    if (count < 0) return 1;
    for (int i = 0; i < count; i++) {
      size_t length = headers[i].msg_len;
      if (length < header_size || filled + length > frame_size) continue;
      memcpy(frame + filled, packets[i] + header_size, length - header_size);
      filled += length - header_size;
      if (packets[i][1] & 0x80) {
        if (write(output, frame, filled) < 0) return 1;
        filled = 0;
      }
    }
  }
}
