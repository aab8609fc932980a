#!/usr/bin/python3
"""A decoder's process that lies: the name under which it is started says how."""

import itertools
import os
import random
import socket
import struct
import sys
import time

DEED = os.path.basename(sys.argv[0])
FOLDER = os.path.dirname(sys.argv[0])
peer = socket.socket(fileno=3)


def integer(number):
    return struct.pack(">q", number)


def word(number):
    return struct.pack(">i", number)


def frame(units, memory, planes, size=(64, 48), **changes):
    said = dict(format=0, kind=1, primaries=2, transfer=2, matrix=2, range=1, chroma=1, condition=0)
    said.update(changes)
    message = b"\x05" + integer(units[0]) + integer(units[1]) + word(next(NUMBERS)) + word(memory)
    message += integer(len(planes)) + b"".join(integer(a) + integer(b) for a, b in planes)
    message += integer(size[0]) + integer(size[1]) + word(said["format"])
    message += word(said["kind"]) + b"\x00\x00"
    for name in ("primaries", "transfer", "matrix", "range", "chroma"):
        message += word(said[name])
    return message + b"\x00\x00" + bytes([said["condition"]]) + b"\x00" + integer(1000)


NUMBERS = itertools.count(1)
PLANES = [(0, 64), (4096, 64), (8192, 64)]
SIZE = 16384
DONE = b"\x07" + integer(1) + integer(500)
READY = b"\x00" + word(15)


def receive():
    global media
    message, descriptors, _, _ = socket.recv_fds(peer, 65536, 4)
    for descriptor in descriptors:
        if message[:1] == b"\x00":
            # The memory in which coded media lies.
            descriptor, media = media, descriptor
        if descriptor is not None:
            os.close(descriptor)
    if not message:
        sys.exit(0)
    return message


def end_if_it_has_the_set(count):
    """Dies of the parameter set that the test has written, if that is in so much coded media."""
    if DEED == "ended-by-a-set" and SET in os.pread(media, count, 0):
        os._exit(9)


def memory(size=SIZE):
    peer.send(b"\x03" + integer(size))
    return struct.unpack(">i", receive()[1:5])[0]


def earlier_processes():
    """How many were started under this name before."""
    for number in itertools.count():
        try:
            mark = os.path.join(FOLDER, "mark-%d" % number)
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            return number
        except FileExistsError:
            pass


def scramble(message, dice):
    message = bytearray(message)
    for _ in range(dice.randint(1, 4)):
        deed = dice.randint(0, 3)
        place = dice.randrange(len(message)) if message else 0
        if deed == 0 and message:
            message[place] = dice.choice([0, 1, 127, 128, 255, dice.randrange(256)])
        elif deed == 1:
            message[place:place] = bytes(dice.randrange(256) for _ in range(dice.randint(1, 8)))
        elif deed == 2:
            del message[place:]
        else:
            message[place : place + 8] = integer(dice.choice([-1, 2**31, 2**40, 2**62, -(2**63)]))
    return bytes(message) or b"\x00"


def decode(number):
    both = (number, number)
    if DEED in ("ended-by-known-sets", "late-for-sets") and EARLIER == 0 and number == 3:
        os._exit(9)
    if DEED == "late-for-sets" and EARLIER > 0 and not has_sets:
        os._exit(10)
    if DEED in ("honest", "ended-by-a-set", "ended-by-known-sets", "late-for-sets"):
        peer.send(frame(both, memory(), PLANES))
    elif DEED == "asking-later":
        peer.send(frame(both, memory(), PLANES))
        memory()
    elif DEED == "silent":
        time.sleep(3600)
    elif DEED == "leaving":
        os._exit(7)
    elif DEED == "unknown-report":
        peer.send(b"\xff")
    elif DEED == "short":
        peer.send(frame(both, memory(), PLANES)[:20])
    elif DEED == "long":
        peer.send(frame(both, memory(), PLANES) + b"\x00")
    elif DEED == "very-long":
        peer.send(b"\x05" * 60000)
    elif DEED == "ready-again":
        peer.send(READY)
    elif DEED == "other-unit":
        peer.send(frame((number + 1, number + 1), memory(), PLANES))
    elif DEED == "backwards":
        peer.send(frame((number, number - 1), memory(), PLANES))
    elif DEED == "other-field":
        peer.send(frame((number, number + 1), memory(), PLANES))
    elif DEED == "twice":
        piece = memory()
        peer.send(frame(both, piece, PLANES))
        peer.send(frame(both, piece, PLANES))
    elif DEED == "no-memory":
        peer.send(frame(both, 77, PLANES))
    elif DEED == "dropped-memory":
        piece = memory()
        peer.send(b"\x04" + word(piece))
        peer.send(frame(both, piece, PLANES))
    elif DEED == "foreign-drop":
        peer.send(b"\x04" + word(5))
    elif DEED == "beyond":
        peer.send(frame(both, memory(), PLANES, size=(64, 400)))
    elif DEED == "at-the-end":
        peer.send(frame(both, memory(), [(SIZE - 64, 64)] + PLANES[1:], size=(64, 2)))
    elif DEED == "far":
        peer.send(frame(both, memory(), [(2**62, 64)] + PLANES[1:]))
    elif DEED == "negative":
        peer.send(frame(both, memory(), [(-64, 64)] + PLANES[1:]))
    elif DEED == "narrow":
        peer.send(frame(both, memory(), [(0, 63)] + PLANES[1:]))
    elif DEED == "wide":
        peer.send(frame(both, memory(), [(0, 2**31 - 1)] + PLANES[1:]))
    elif DEED == "huge":
        peer.send(frame(both, memory(), [(0, 65535)] * 3, size=(65535, 65535)))
    elif DEED == "empty":
        peer.send(frame(both, memory(), PLANES, size=(0, 48)))
    elif DEED == "odd-samples":
        # yuv420p10le
        peer.send(frame(both, memory(), [(1, 129)] * 3, size=(16, 4), format=62))
    elif DEED == "few-planes":
        peer.send(frame(both, memory(), PLANES[:1]))
    elif DEED == "many-planes":
        peer.send(frame(both, memory(), PLANES * 3))
    elif DEED == "unknown-format":
        peer.send(frame(both, memory(), PLANES, format=123456))
    elif DEED == "packed-format":
        peer.send(frame(both, memory(), PLANES[:1], format=2))
    elif DEED == "unknown-colour":
        peer.send(frame(both, memory(), PLANES, matrix=99))
    elif DEED == "unknown-condition":
        peer.send(frame(both, memory(), PLANES, condition=9))
    elif DEED == "descriptor":
        socket.send_fds(peer, [DONE], [0])
    elif DEED == "greedy":
        while True:
            memory(1 << 20)
    elif DEED == "busy":
        while True:
            peer.send(b"\x04" + word(memory()))
    elif DEED == "dropped-frame":
        piece = memory()
        peer.send(frame(both, piece, PLANES))
        peer.send(b"\x04" + word(piece))
    elif DEED == "keeping":
        pass
    elif DEED.startswith("random-"):
        dice = random.Random(DEED + str(number))
        good = frame(both, memory(), PLANES)
        peer.send(scramble(dice.choice([good, good, DONE, b"\x06" + good[1:17] + bytes(9)]), dice))
    peer.send(DONE)


media = None
SET = b""
if DEED == "ended-by-a-set":
    with open(os.path.join(FOLDER, "set"), "rb") as file:
        SET = file.read()
has_sets = False
EARLIER = earlier_processes()
if DEED == "never-ready" or DEED == "ended-by-sets" and EARLIER == 0:
    time.sleep(3600)
peer.send(READY)
try:
    while True:
        request = receive()
        if request[0] == 1:
            peer.send(b"\x01")
        elif request[0] == 3:
            number, head, body = struct.unpack(">qqq", request[1:25])
            end_if_it_has_the_set(head + body)
            decode(number)
        elif request[0] == 2 and DEED in ("ended-by-sets", "ended-by-known-sets"):
            os._exit(9)
        elif request[0] == 2 and DEED == "late-for-sets" and EARLIER == 1:
            time.sleep(3600)
        elif request[0] == 2:
            has_sets = True
            end_if_it_has_the_set(struct.unpack(">q", request[1:9])[0])
            peer.send(DONE)
        elif request[0] == 4:
            peer.send(DONE)
except (BrokenPipeError, ConnectionResetError):
    pass
