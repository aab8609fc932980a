#!/usr/bin/env python3
"""Receives RTP with GStreamer and writes each frame's RTP timestamp (4 bytes, big-endian) and luma.

usage: gstreamer-frames.py PORT h264|h265 WIDTHxHEIGHT; ends on SIGINT, after the last frame.
"""

import signal
import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

port, codec, size = sys.argv[1:]
width, height = map(int, size.split("x"))
Gst.init(None)
pipeline = Gst.parse_launch(
    f"udpsrc address=127.0.0.1 port={port} buffer-size=4194304 caps=application/x-rtp,media=video,"
    f"clock-rate=90000,encoding-name={codec.upper()},payload=96 ! rtpjitterbuffer "
    f"! rtp{codec}depay name=depay ! {codec}parse ! avdec_{codec} "
    "! video/x-raw,format=I420 ! appsink name=sink sync=false"
)

# The jitter buffer assigns its own times; a probe after it maps them to RTP timestamps.
rtp_times = {}


def note(_, info):
    packet = info.get_buffer()
    rtp_times[packet.pts] = packet.extract_dup(4, 4)
    return Gst.PadProbeReturn.OK


pipeline.get_by_name("depay").get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, note)
signal.signal(signal.SIGINT, lambda *_: pipeline.send_event(Gst.Event.new_eos()))
sink = pipeline.get_by_name("sink")
pipeline.set_state(Gst.State.PLAYING)
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
