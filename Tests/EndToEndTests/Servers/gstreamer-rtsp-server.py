#!/usr/bin/env python3
"""Serves one file, or a tone, with GStreamer's RTSP server at rtsp://ADDRESS:PORT/stream.

Prints `ready PORT` once the port is open. Every client is sent the
file from its first frame, paced as its timestamps say; at its end RTCP says goodbye.
"""

import argparse
import os
import signal

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtsp", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import Gio, GLib, Gst, GstRtsp, GstRtspServer  # noqa: E402

from gstreamer_loss import Loss  # noqa: E402

PROTOCOLS = {
    "tcp": GstRtsp.RTSPLowerTrans.TCP,
    "udp": GstRtsp.RTSPLowerTrans.UDP,
    "multicast": GstRtsp.RTSPLowerTrans.UDP_MCAST,
}
METHODS = {
    "basic": GstRtsp.RTSPAuthMethod.BASIC,
    "digest": GstRtsp.RTSPAuthMethod.DIGEST,
}


def authentication(arguments, factory):
    """The authentication of clients, and the server's certificate; None for neither."""
    if not arguments.auth and not arguments.certificate:
        return None
    auth = GstRtspServer.RTSPAuth.new()
    if arguments.certificate:
        auth.set_tls_certificate(
            Gio.TlsCertificate.new_from_files(arguments.certificate, arguments.key)
        )
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", "viewer")
    permissions = GstRtspServer.RTSPPermissions()
    permissions.add_permission_for_role("viewer", "media.factory.access", True)
    permissions.add_permission_for_role("viewer", "media.factory.construct", True)
    factory.set_permissions(permissions)
    if not arguments.auth:
        auth.set_default_token(token)
        return auth
    auth.set_supported_methods(METHODS[arguments.auth])
    if arguments.auth == "digest":
        auth.add_digest(arguments.user, arguments.password, token)
    else:
        basic = GstRtspServer.RTSPAuth.make_basic(arguments.user, arguments.password)
        auth.add_basic(basic, token)
    return auth


def multicast_addresses():
    """A multicast group that no router forwards."""
    pool = GstRtspServer.RTSPAddressPool.new()
    pool.add_range("239.255.42.1", "239.255.42.1", 20000, 40000, 1)
    return pool


class Death:
    """A server that is killed when it has packed so many buffers of its first stream."""

    def __init__(self, buffers):
        self.left = buffers

    def attach(self, rtpbin):
        kinds = Gst.PadProbeType.BUFFER | Gst.PadProbeType.BUFFER_LIST
        rtpbin.get_static_pad("send_rtp_src_0").add_probe(kinds, self.count)

    def count(self, _pad, _info):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return Gst.PadProbeReturn.OK


def attach(factory, probe):
    """Has `probe` look at what the server sends, retransmissions included."""

    def prepared(media):
        pipeline = media.get_element().get_parent()
        probe.attach(next(e for e in pipeline.children if e.get_name().startswith("rtpbin")))

    factory.connect("media-configure", lambda _, media: media.connect("prepared", prepared))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="an MP4 file of H.264 or H.265, or - for a tone alone")
    parser.add_argument("codec", help="h264, h265, or the elements that code and pack the tone")
    parser.add_argument("--protocol", choices=sorted(PROTOCOLS), help="the only one that is served")
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", default="0", help="one that the kernel chooses unless given")
    parser.add_argument("--auth", choices=sorted(METHODS))
    parser.add_argument("--user", default="viewer")
    parser.add_argument("--password", default="secret")
    parser.add_argument("--certificate", help="in PEM; turns TLS on")
    parser.add_argument("--key", help="of the certificate, in PEM")
    parser.add_argument("--feedback", action="store_true", help="the profile AVPF")
    parser.add_argument("--retransmission", type=int, help="ms for which packets can be sent again")
    parser.add_argument("--sound-first", action="store_true", help="a tone, described first")
    parser.add_argument("--loss", type=float, help="the share of packets lost")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dies-after", type=int, help="buffers of the first stream")
    parser.add_argument("--once", action="store_true", help="serve one client and end")
    arguments = parser.parse_args()

    Gst.init(None)
    factory = GstRtspServer.RTSPMediaFactory()
    # Beside a stream that nobody sets up, a tone that is not live is often not sent at all.
    sound = "audiotestsrc is-live=true ! audioconvert ! mulawenc ! rtppcmupay name=pay0 pt=0"
    number = 1 if arguments.sound_first else 0
    video = (
        f"filesrc location={arguments.file} ! qtdemux ! {arguments.codec}parse"
        f" config-interval=-1 ! rtp{arguments.codec}pay name=pay{number} pt=96"
    )
    # A second and a half.
    source = "audiotestsrc num-buffers=65 samplesperbuffer=1024 ! audio/x-raw,rate=44100"
    tone = f"{source} ! audioconvert ! audioresample ! {arguments.codec} name=pay0 pt=97"
    media = tone if arguments.file == "-" else video
    factory.set_launch(f"( {sound if arguments.sound_first else ''} {media} )")
    factory.set_shared(False)
    if arguments.feedback:
        factory.set_profiles(GstRtsp.RTSPProfile.AVPF)
    if arguments.retransmission:
        factory.set_retransmission_time(arguments.retransmission * Gst.MSECOND)
        factory.set_do_retransmission(True)
    if arguments.loss:
        attach(factory, Loss(arguments.loss, arguments.seed))
    if arguments.dies_after:
        attach(factory, Death(arguments.dies_after))
    if arguments.protocol:
        factory.set_protocols(PROTOCOLS[arguments.protocol])
    if arguments.protocol == "multicast":
        factory.set_address_pool(multicast_addresses())

    server = GstRtspServer.RTSPServer()
    server.set_address(arguments.address)
    server.set_service(arguments.port)
    auth = authentication(arguments, factory)
    if auth:
        server.set_auth(auth)
    server.get_mount_points().add_factory("/stream", factory)
    listener = server.attach(None)
    if listener == 0:
        raise SystemExit("cannot open a port")
    loop = GLib.MainLoop()

    def connected(_server, client):
        GLib.source_remove(listener)
        client.connect("closed", lambda _: loop.quit())

    if arguments.once:
        server.connect("client-connected", connected)
    print("ready", server.get_bound_port(), flush=True)
    loop.run()


if __name__ == "__main__":
    main()
