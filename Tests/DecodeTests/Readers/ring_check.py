"""The same as ring-check.c, for the Python module; reads copies, views or in order.

usage: ring_check.py PATH latest|view|ordered
"""

import sys

import numpy
import rtp_recv


def is_whole(frame):
    return all(
        (numpy.ascontiguousarray(plane[:, : plane.shape[1] // 8 * 8]).view("<u8") == frame.sequence).all()
        for plane in frame.planes
    )


frames = torn = last = 0
path, mode = sys.argv[1:]
with rtp_recv.Ring(path, timeout=20) as ring:
    print("open", flush=True)
    if mode == "ordered":
        missed = 0
        for frame in ring:
            frames, torn = frames + 1, torn + (not is_whole(frame))
            # Whatever was missed is said.
            assert not last or frame.sequence == last + 1 + frame.missed, (last, frame)
            last = frame.sequence
        reason = ring.reason
    else:
        while reason := ring.wait():
            frame = ring.latest(copy=mode == "latest")
            whole = is_whole(frame)
            if frame.valid:
                frames, torn = frames + 1, torn + (not whole)
            last = frame.sequence
    print("frames", frames, "torn", torn, "last", last, "outcome", reason.name)
