"""An HTTP server whose every byte a case can change."""

from __future__ import annotations

import socket
import struct
from typing import Callable, Iterable

from ..media import Clip, Numbering
from .tcp import TCPServer

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n")
LAST_CHUNK = b"0\r\n\r\n"


def request(connection: socket.socket) -> str:
    """The head of the next request; empty if there is none."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(65536)
        if not piece:
            return ""
        head += piece
    return head.decode(errors="replace")


def prefixed(packets: Iterable[bytes]) -> bytes:
    """Packets, each after its length in four bytes."""
    return b"".join(struct.pack(">I", len(packet)) + packet for packet in packets)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def body(clip: Clip, numbering: Numbering | None = None) -> bytes:
    """All pictures of a clip, as they come over HTTP."""
    numbering = numbering or Numbering()
    return b"".join(prefixed(numbering.picture(units)) for units in clip.units)


class HTTPServer(TCPServer):
    """Answers each request with what `respond` sends; the head that came is its argument."""

    def __init__(
        self, respond: Callable[[socket.socket, str, int], None], **options
    ) -> None:
        self.heads: list[str] = []

        def serve(connection: socket.socket, number: int) -> None:
            if head := request(connection):
                self.heads.append(head)
                respond(connection, head, number)

        self._scheme = "https" if options.get("tls") else "http"
        super().__init__(serve, **options)

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self.address}:{self.port}/live"
