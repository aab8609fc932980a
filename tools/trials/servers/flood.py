"""Sends datagrams to a port at a rate until SIGINT, and then prints how many.

usage: flood.py ADDRESS PORT RATE ORIGIN[:PORT] KIND

With a port of another program in ORIGIN, its address is forged, which only root may do.
KIND is 'random' (bytes), 'rtp' (headers that look right, of one SSRC in order), or 'sources' (the same,
each of another SSRC).
"""

import random
import signal
import socket
import struct
import sys
import time

address, port, wanted, origin, kind = sys.argv[1:]
rate = int(wanted)
dice = random.Random(1)


def datagram(index: int) -> bytes:
    rest = dice.randbytes(dice.randrange(20, 200))
    if kind == "random":
        return rest
    ssrc = dice.getrandbits(32) if kind == "sources" else 0x6666
    return struct.pack(">BBHII", 0x80, 96, index & 0xFFFF, 3600 * index & 0xFFFFFFFF, ssrc) + rest


class Stopped(Exception):
    pass


def stop(*_):
    raise Stopped


datagrams = [datagram(index) for index in range(4096)]
if ":" in origin:
    host, _, source = origin.partition(":")
    attacker = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
    attacker.bind((host, 0))
    attacker.connect((address, 0))
    datagrams = [
        struct.pack(">HHHH", int(source), int(port), 8 + len(content), 0) + content
        for content in datagrams]
else:
    attacker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    attacker.bind((origin, 0))
    attacker.connect((address, int(port)))
send, sent = attacker.send, 0
signal.signal(signal.SIGINT, stop)
begin = time.monotonic()
try:
    while True:
        due = int((time.monotonic() - begin) * rate)
        # In bursts, as a busy machine lets it.
        for index in range(sent, min(due, sent + 2000)):
            try:
                send(datagrams[index & 4095])
            except ConnectionRefusedError:
                pass
            sent += 1
        if sent >= due:
            time.sleep(0.002)
except Stopped:
    print(sent, flush=True)
