#!/usr/bin/env python3
"""Sends one file with GStreamer over plain RTP, loses some of it, and retransmits on request.

RTCP goes to the port next to that of the media, and is taken at the port next to its own.
"""

import argparse

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gio, GLib, Gst  # noqa: E402

from gstreamer_loss import PAYLOAD_TYPE, Loss  # noqa: E402


def sockets():
    """Two sockets on loopback with adjacent ports."""

    def bound(port):
        socket = Gio.Socket.new(
            Gio.SocketFamily.IPV4, Gio.SocketType.DATAGRAM, Gio.SocketProtocol.UDP
        )
        socket.bind(Gio.InetSocketAddress.new_from_string("127.0.0.1", port), False)
        return socket

    for _ in range(100):
        media = bound(0)
        try:
            return media, bound(media.get_local_address().get_port() + 1)
        except GLib.Error:
            pass
    raise SystemExit("no two ports are free")


def divide(pipeline, payload_type, port):
    """Retransmits to a separate port, with the SSRC of the media."""
    socket = Gio.Socket.new(
        Gio.SocketFamily.IPV4, Gio.SocketType.DATAGRAM, Gio.SocketProtocol.UDP
    )
    address = Gio.InetSocketAddress.new_from_string("127.0.0.1", port)
    ssrc = []

    def take(buffer):
        data = bytearray(buffer.extract_dup(0, buffer.get_size()))
        if data[1] & 0x7F != payload_type:
            ssrc[:] = [data[8:12]]
            return False
        data[8:12] = ssrc[0]
        socket.send_to(address, bytes(data))
        return True

    def probe(_pad, info):
        if info.type & Gst.PadProbeType.BUFFER and take(info.get_buffer()):
            return Gst.PadProbeReturn.DROP
        if info.type & Gst.PadProbeType.BUFFER_LIST:
            take(info.get_buffer_list().get(0))
        return Gst.PadProbeReturn.OK

    kinds = Gst.PadProbeType.BUFFER | Gst.PadProbeType.BUFFER_LIST
    pipeline.get_by_name("media").get_static_pad("sink").add_probe(kinds, probe)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="an MP4 file of H.264 or H.265")
    parser.add_argument("codec", choices=["h264", "h265"])
    parser.add_argument("port", type=int, help="where the media goes to, on loopback")
    parser.add_argument("--retransmission-payload-type", type=int)
    parser.add_argument(
        "--retransmission-port", type=int, help="a session of its own (RFC 4588 5.3)"
    )
    parser.add_argument("--loss", type=float, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    Gst.init(None)
    again = "rtprtxqueue max-size-time=10000"
    if arguments.retransmission_payload_type:
        types = f"{PAYLOAD_TYPE}=(uint){arguments.retransmission_payload_type}"
        again = f"rtprtxsend payload-type-map=application/x-rtp-pt-map,{types} max-size-time=10000"
    pipeline = Gst.parse_launch(
        f"rtpbin name=rtpbin rtp-profile=avpf filesrc location={arguments.file} ! qtdemux"
        f" ! {arguments.codec}parse config-interval=-1"
        f" ! rtp{arguments.codec}pay pt={PAYLOAD_TYPE} mtu=400 ! {again}"
        " ! rtpbin.send_rtp_sink_0 rtpbin.send_rtp_src_0"
        f" ! udpsink name=media host=127.0.0.1 port={arguments.port}"
        " rtpbin.send_rtcp_src_0"
        f" ! udpsink host=127.0.0.1 port={arguments.port + 1} sync=false async=false"
        " udpsrc name=control ! rtpbin.recv_rtcp_sink_0"
    )
    media, control = sockets()
    pipeline.get_by_name("media").set_property("socket", media)
    pipeline.get_by_name("control").set_property("socket", control)
    Loss(arguments.loss, arguments.seed).attach(pipeline.get_by_name("rtpbin"))
    if arguments.retransmission_port:
        divide(pipeline, arguments.retransmission_payload_type, arguments.retransmission_port)
    pipeline.set_state(Gst.State.PLAYING)
    GLib.MainLoop().run()


if __name__ == "__main__":
    main()
