#!/usr/bin/env python3
"""Decodes RTP packets with GStreamer and writes each frame's RTP timestamp (4 bytes, big-endian) and luma.

usage: gstreamer-frames.py FILE h264|h265 WIDTHxHEIGHT; FILE holds packets, each behind its length in
4 bytes.

There is no jitter buffer: as nothing comes late, it would only wait, and hand on the same packets.
"""

import struct
import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import Gst, GstApp  # noqa: E402, F401

path, codec, size = sys.argv[1:]
width, height = map(int, size.split("x"))
Gst.init(None)
pipeline = Gst.parse_launch(
    f"appsrc name=source format=time max-bytes=0 caps=application/x-rtp,media=video,clock-rate=90000,"
    f"encoding-name={codec.upper()},payload=96 ! rtp{codec}depay ! {codec}parse ! avdec_{codec} "
    "! video/x-raw,format=I420 ! appsink name=sink sync=false max-buffers=8"
)
source, sink = pipeline.get_by_name("source"), pipeline.get_by_name("sink")
pipeline.set_state(Gst.State.PLAYING)
with open(path, "rb") as file:
    contents = file.read()
# Which RTP timestamp a time stands for. A minute before them is room for what goes back.
rtp_times = {}
first, last, at = None, None, 0
while at < len(contents):
    (length,) = struct.unpack_from(">I", contents, at)
    packet = contents[at + 4 : at + 4 + length]
    at += 4 + length
    (number, ticks) = struct.unpack_from(">HI", packet, 2)
    first = ticks if first is None else first
    elapsed = (ticks - first + (1 << 31)) % (1 << 32) - (1 << 31)
    buffer = Gst.Buffer.new_wrapped(packet)
    buffer.pts = 60 * Gst.SECOND + elapsed * Gst.SECOND // 90000
    # As the jitter buffer does.
    if last is not None and number != (last + 1) % (1 << 16):
        buffer.set_flags(Gst.BufferFlags.DISCONT)
    last = number
    rtp_times[buffer.pts] = packet[4:8]
    source.push_buffer(buffer)
source.end_of_stream()
while not sink.get_property("eos"):
    sample = sink.emit("try-pull-sample", Gst.SECOND // 10)
    if sample is None:
        continue
    frame = sample.get_buffer()
    time = rtp_times.get(frame.pts)
    if time is None:
        sys.exit(f"no packet has the time {frame.pts} of a frame")
    sys.stdout.buffer.write(time + frame.extract_dup(0, width * height))
sys.stdout.buffer.flush()
pipeline.set_state(Gst.State.NULL)
