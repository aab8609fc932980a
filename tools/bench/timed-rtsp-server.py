#!/usr/bin/env python3
"""Serves an MP4 file of H.264 at rtsp://127.0.0.1:PORT/stream to one client, at its speed, and notes
when it sends each picture.

usage: timed-rtsp-server.py FILE TIMES; prints the PORT. TIMES becomes a file of doubles, for each picture
in order the time on the monotonic clock, 0 before.
"""

import mmap
import struct
import sys
import time

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402

clip, times = sys.argv[1:]
Gst.init(None)
with open(times, "w+b") as file:
    file.truncate(8 << 16)
    sent = mmap.mmap(file.fileno(), 0)
count = 0


def note(_, info):
    global count
    struct.pack_into("d", sent, 8 * (count & 0xFFFF), time.monotonic())
    count += 1
    return Gst.PadProbeReturn.OK


def send_at_once(media):
    """`identity` keeps the time; sinks that keep it again would send 20 ms later."""

    def hurry(element):
        if element.find_property("sync") and element.get_name() != "clock":
            element.set_property("sync", False)

    media.get_element().get_parent().iterate_recurse().foreach(hurry)


def configure(_, media):
    pad = media.get_element().get_by_name("pay0").get_static_pad("sink")
    pad.add_probe(Gst.PadProbeType.BUFFER, note)
    media.connect("new-state", lambda media, _: send_at_once(media))


factory = GstRtspServer.RTSPMediaFactory.new()
factory.set_launch(
    f"( filesrc location={clip} ! qtdemux ! h264parse ! video/x-h264,alignment=au "
    "! identity name=clock sync=true ! rtph264pay name=pay0 pt=96 config-interval=-1 )"
)
factory.connect("media-configure", configure)
server = GstRtspServer.RTSPServer.new()
server.set_address("127.0.0.1")
server.set_service("0")
server.get_mount_points().add_factory("/stream", factory)
server.attach(None)
print(server.get_bound_port(), flush=True)
GLib.MainLoop().run()
