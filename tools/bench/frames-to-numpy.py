#!/usr/bin/env python3
"""Takes BGR frames of an RTSP stream into NumPy in one of four ways, and prints what it costs.

usage: frames-to-numpy.py latest|view|pipe|opencv URL TIMES SECONDS PAUSE RTP-RECV

Between two frames the program sleeps for PAUSE seconds, as a model computes. TIMES is the file in which
timed-rtsp-server.py notes when it sent each picture, and each picture has its number in its first rows:
sixteen squares, black or white. It prints, without start-up: the processor time of all its processes
for each picture that was sent, in ms; and the median age of the last frames when they are there, in ms.
"""

import mmap
import os
import struct
import subprocess
import sys
import time

import numpy

way, url, times, seconds, pause, program = sys.argv[1:]
seconds, pause = float(seconds), float(pause)
WIDTH, HEIGHT, RATE, SQUARE = 1920, 1080, 30, 32


def number(frame):
    """The number that the picture shows."""
    squares = frame[SQUARE // 2, SQUARE // 2 : SQUARE * 16 : SQUARE, 1] > 128
    return int((squares * (1 << numpy.arange(16))).sum())


def ring(copy):
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../python"))
    import rtp_recv

    options = ["--rtsp-transport", "tcp"]
    with rtp_recv.open(url, program=program, options=options) as camera:
        yield camera._process.pid
        while camera.wait(10):
            yield camera.latest(copy=copy).array


def pipe():
    command = [program, url, "--rtsp-transport", "tcp", "-o", "-", "--format", "yuv"]
    receiver = subprocess.Popen(
        command + ["--pixel-format", "bgr24", "--quiet"], stdout=subprocess.PIPE, bufsize=0)
    yield receiver.pid
    size = WIDTH * HEIGHT * 3
    while True:
        samples = numpy.empty(size, numpy.uint8)
        view, got = memoryview(samples), 0
        while got < size:
            count = receiver.stdout.readinto(view[got:])
            if not count:
                return
            got += count
        yield samples.reshape(HEIGHT, WIDTH, 3)


def opencv():
    import cv2

    yield None
    capture = cv2.VideoCapture(url, cv2.CAP_FFMPEG)
    while True:
        come, frame = capture.read()
        if not come:
            return
        yield frame


def processor_time(pid):
    """Of this process, the one that receives and those that it has started, in seconds."""
    total = time.process_time()
    for process in processes(pid) if pid is not None else []:
        # As clock_getcpuclockid(3) makes the clock of another process.
        total += time.clock_gettime(~process << 3 | 2)
    return total


def processes(pid):
    yield pid
    for other in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{other}/stat") as text:
                parent = int(text.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            yield from processes(int(other))


with open(times, "rb") as file:
    sent_at = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
ways = {"latest": lambda: ring(True), "view": lambda: ring(False), "pipe": pipe, "opencv": opencv}
frames = ways[way]()
receiver = next(frames)
ages = []
began = None
for frame in frames:
    now = time.monotonic()
    ages.append(now - struct.unpack_from("d", sent_at, 8 * number(frame))[0])
    if began is None and len(ages) >= 10:
        began = (now, processor_time(receiver))
    if began and now - began[0] > seconds:
        break
    time.sleep(pause)
spent = processor_time(receiver) - began[1]
sent = (time.monotonic() - began[0]) * RATE
if receiver is not None:
    os.kill(receiver, 2)
print(1000 * spent / sent, 1000 * numpy.median(ages[-10:]), len(ages))
sys.stdout.flush()
os._exit(0)
