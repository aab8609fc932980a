"""A network after a GStreamer sender that loses packets, from a seed."""

import random

from gi.repository import Gst

PAYLOAD_TYPE = 96


class Loss:
    """Originals are lost by a separate generator, so that their losses are the same each time."""

    def __init__(self, share, seed):
        self.share = share
        self.first = random.Random(seed)
        self.again = random.Random(seed + 1)
        self.sent = set()

    def attach(self, rtpbin):
        # H.265 comes in lists, which are lost as a whole: a burst.
        kinds = Gst.PadProbeType.BUFFER | Gst.PadProbeType.BUFFER_LIST
        rtpbin.get_static_pad("send_rtp_src_0").add_probe(kinds, self.drop)

    def drop(self, _pad, info):
        if info.type & Gst.PadProbeType.BUFFER_LIST:
            buffer = info.get_buffer_list().get(0)
        else:
            buffer = info.get_buffer()
        header = buffer.extract_dup(0, 4)
        is_first = header[1] & 0x7F == PAYLOAD_TYPE and header[2:4] not in self.sent
        if is_first:
            self.sent.add(header[2:4])
        dice = self.first if is_first else self.again
        # The first packets show where a stream begins.
        is_lost = dice.random() < self.share and len(self.sent) > 10
        return Gst.PadProbeReturn.DROP if is_lost else Gst.PadProbeReturn.OK
