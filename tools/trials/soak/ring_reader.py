"""Reads a ring of frames for hours and says every ten seconds what came, as lines of JSON.

usage: ring_reader.py PATH
"""

import json
import sys
import time

import rtp_recv

frames = missed = 0
said = time.monotonic()
ages = []
with rtp_recv.Ring(sys.argv[1], reconnect=True) as ring:
    while ring.wait(2.0) is not rtp_recv.Reason.ENDED:
        if ring.reason:
            frame = ring.latest(copy=False)
            if frame is not None:
                frames += 1
                missed += frame.missed
                ages.append(frame.age)
        if time.monotonic() - said >= 10:
            said = time.monotonic()
            ages.sort()
            print(json.dumps({
                "frames": frames, "missed": missed, "connections": ring.reconnections,
                "age_ms": 1000 * ages[len(ages) // 2] if ages else None}), flush=True)
            ages = []
