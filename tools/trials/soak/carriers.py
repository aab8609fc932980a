"""Stations of the other transports: TLS, RTSP in HTTP, groups, ONVIF, TCP and NATS.

Each camera has one client, and goes first: its client has read all of it, and waits for it to come
again, when it is told to end.
"""

from __future__ import annotations

import os
import shutil
import socket
import struct
import urllib.request
from typing import TYPE_CHECKING, Optional

from .. import certificates
from ..programs import (
    REPOSITORY, RTP_RECV, RTP_SEND, Impatience, Program, free_port, until)
from ..servers.tcp import TCPServer
from . import balance

if TYPE_CHECKING:
    from .stations import Stations

# The last files of a recording.
RECORDED = ["--segment", "60s", "--keep", "20MB"]

# No router forwards what is sent to it.
GROUP = "239.255.42.20"

# Who has an RTSP server for itself, in the order in which they end.
CAMERAS = ("tls", "tunnel", "group", "onvif")


class Carriers:
    """Begins these stations, and ends them."""

    def __init__(self, stations: Stations, small: list[str]) -> None:
        """:param small: what keeps the test pattern cheap."""
        self._stations, self._small = stations, small
        self._folder = stations.folder
        self._helpers: list[Program] = []
        """Programs of others, which are not judged."""
        self._relay: Optional[TCPServer] = None

    def start(self) -> None:
        nats = self._nats()
        self._start_tls(nats)
        self._start_tunnel()
        self._start_group()
        self._start_onvif()
        self._start_framed()
        self._start_nats_reader(nats)

    def _nats(self) -> str:
        """A server of NATS, and where the camera is in it."""
        port = free_port(socket.SOCK_STREAM)
        # Debian has it where only root looks for programs.
        program = shutil.which("nats-server", path=os.environ.get("PATH", "") + ":/usr/sbin")
        server = Program(
            [program or "nats-server", "-a", "127.0.0.1", "-p", port, "-js", "-sd",
             self._folder / "nats"])
        self._helpers.append(server)
        server.line("Server is ready")
        return f"nats://127.0.0.1:{port}/soak"

    def _camera(self, name: str, source: str, address: str, *options: object) -> int:
        """A live stream, and the port of its server."""
        return self._stations.add(f"send-{name}", [
            RTP_SEND, source, f"{address}://127.0.0.1:0/live", *options]).port()

    def _client(
        self, name: str, source: str, *options: object, unread: int = 0, **more: str
    ) -> None:
        self._stations.add(f"recv-{name}", [RTP_RECV, source, *options], **more)
        self._stations.pair(f"send-{name}", f"recv-{name}", unread)

    def _start_tls(self, nats: str) -> None:
        """TLS: y4m in a pipe, two kinds of sound, pictures, and all of it in NATS."""
        authority = certificates.make(self._folder, "authority", host="")
        own = certificates.make(self._folder, "tls", authority=authority)
        port = self._camera(
            "tls", "pattern", "rtsps", *self._small, "--audio", "aac/8000/1",
            "--certificate", own.certificate, "--key", own.key)
        self._client(
            "tls", f"rtsps://127.0.0.1:{port}/live", "--tls-ca", authority.certificate,
            "--reconnect", "-o", "-", "--format", "y4m", "-o", "tls.aac", "-o", "tls.wav",
            "-o", "tls-every-%04d.png", "--every", "60s", "-o", f"{nats}?max-bytes=64MiB",
            output="count")

    def _start_tunnel(self) -> None:
        """RTSP and its media in HTTP."""
        port = self._camera("tunnel", "film.mp4", "rtsp", "--loop", "forever")
        self._client(
            "tunnel", f"rtsp://127.0.0.1:{port}/live", "--rtsp-transport", "http", "--reconnect",
            "-o", "tunnel-%Y%m%dT%H%M%SZ.ts", *RECORDED)

    def _start_group(self) -> None:
        """A multicast group, on loopback as the connection is."""
        port = self._camera(
            "group", "film.mp4", "rtsp", "--loop", "forever", "--multicast",
            f"{GROUP}:{free_port()}")
        # The goodbye may be unread when the connection closes.
        self._client(
            "group", f"rtsp://127.0.0.1:{port}/live", "--rtsp-transport", "multicast",
            "--reconnect", "-o", "group-%Y%m%dT%H%M%SZ.mkv", *RECORDED, unread=balance.MOST_UNSEEN)

    def _start_onvif(self) -> None:
        """A camera that speaks ONVIF."""
        port = self._camera("onvif", "film.mp4", "rtsp", "--loop", "forever")
        services = Program([
            "/usr/bin/python3", REPOSITORY / "Tests/EndToEndTests/Servers/onvif-camera.py",
            f"rtsp://127.0.0.1:{port}/live"])
        self._helpers.append(services)
        number = services.line(r"ready (\d+)")[1]
        self._client(
            "onvif", f"onvif://127.0.0.1:{number}", "--rtsp-transport", "tcp", "--reconnect",
            "-o", "onvif-%Y%m%dT%H%M%SZ.mp4", *RECORDED)

    def _start_framed(self) -> None:
        """Packets after lengths of two bytes, from a server of TCP that has them by HTTP."""
        port = self._stations.add("send-framed", [
            RTP_SEND, "film.h265", "http://127.0.0.1:0", "--loop", "forever", "--fps", "12",
            "--once"]).port()

        def pass_on(connection: socket.socket, number: int) -> None:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/live", timeout=60) as body:
                while length := body.read(4):
                    packet = body.read(int.from_bytes(length, "big"))
                    connection.sendall(struct.pack(">H", len(packet)) + packet)

        self._relay = TCPServer(pass_on)
        self._client(
            "framed", f"tcp://127.0.0.1:{self._relay.port}", "-o", "framed-%Y%m%dT%H%M%SZ.mkv",
            *RECORDED)

    def _start_nats_reader(self, nats: str) -> None:
        """What TLS brought, from NATS."""
        until(lambda: balance.published(self._folder / "recv-tls.stats"), "a camera in NATS")
        self._stations.add("recv-nats", [
            RTP_RECV, nats, "-o", "nats-%Y%m%dT%H%M%SZ.mp4", *RECORDED])

    # The end

    def end(self) -> None:
        for name in CAMERAS:
            self._stations.stop(f"send-{name}")
            # It says so once it has read all that came.
            self._stations.members[f"recv-{name}"].program.line("connecting again")
            self._stations.stop(f"recv-{name}")
        self._stations.stop("send-framed")
        self._stations.wait("recv-framed")
        try:
            until(
                lambda: all(e.holds for e in balance.in_nats("recv-tls", "recv-nats", self._folder)),
                "all of NATS", 10)
        except Impatience:
            pass  # The balance says what is missing.
        self._stations.stop("recv-nats")
        self.kill()

    def kill(self) -> None:
        for helper in self._helpers:
            helper.kill()
        if self._relay:
            self._relay.close()
