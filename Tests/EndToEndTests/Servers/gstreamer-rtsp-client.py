#!/usr/bin/env python3
"""Plays an RTSP URL with GStreamer, pauses and seeks on the way, and prints the MD5 of each picture.

The steps are words: a number of pictures to show, `pause`, `play`, or `seek=SECONDS`. Behind the
last one it plays to the end.
"""

import argparse
import hashlib
import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

LIMIT = 30 * Gst.SECOND


class Player:
    def __init__(self, url, protocols, codec):
        self.pipeline = Gst.parse_launch(
            f"rtspsrc name=source location={url} protocols={protocols} ! rtp{codec}depay"
            f" ! avdec_{codec} max-threads=1 ! video/x-raw,format=I420"
            " ! appsink name=sink sync=false async=false"
        )
        self.sink = self.pipeline.get_by_name("sink")

    def change(self, state, request):
        """Changes the state, and waits until the server has taken the request."""
        self.pipeline.set_state(state)
        wanted = Gst.MessageType.PROGRESS | Gst.MessageType.ERROR
        while message := self.pipeline.get_bus().timed_pop_filtered(LIMIT, wanted):
            if message.type == Gst.MessageType.ERROR:
                raise SystemExit(message.parse_error()[0].message)
            kind, _, text = message.parse_progress()
            if kind == Gst.ProgressType.COMPLETE and request in text:
                return
        raise SystemExit(f"no answer to {request}")

    def show(self):
        """Shows a picture; false at the end."""
        sample = self.sink.emit("try-pull-sample", LIMIT)
        if sample is None:
            if self.sink.get_property("eos"):
                return False
            raise SystemExit("no picture came")
        buffer = sample.get_buffer()
        picture = buffer.extract_dup(0, buffer.get_size())
        print(hashlib.md5(picture).hexdigest(), flush=True)
        return True

    def take(self, step):
        print(step, file=sys.stderr, flush=True)
        if step == "pause":
            self.change(Gst.State.PAUSED, "PAUSE")
        elif step == "play":
            self.change(Gst.State.PLAYING, "PLAY")
        elif step.startswith("seek="):
            time = int(float(step.removeprefix("seek=")) * Gst.SECOND)
            flags = Gst.SeekFlags.FLUSH | Gst.SeekFlags.KEY_UNIT
            if not self.pipeline.seek_simple(Gst.Format.TIME, flags, time):
                raise SystemExit("it does not seek")
            print(step, flush=True)
        else:
            for _ in range(int(step)):
                if not self.show():
                    raise SystemExit(f"it ended within {step} pictures")

    def play(self, steps):
        self.change(Gst.State.PLAYING, "PLAY")
        for step in steps:
            self.take(step)
        while self.show():
            pass


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("url")
    arguments.add_argument("--protocols", default="tcp")
    arguments.add_argument("--codec", default="h264")
    arguments.add_argument("steps", nargs="*")
    options = arguments.parse_intermixed_args()
    Gst.init(None)
    player = Player(options.url, options.protocols, options.codec)
    try:
        player.play(options.steps)
    finally:
        player.pipeline.set_state(Gst.State.NULL)


main()
