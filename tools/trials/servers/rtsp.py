"""An RTSP server whose every answer a case can change."""

from __future__ import annotations

import socket
import struct
import threading
from dataclasses import dataclass, field
from typing import Callable, Iterable, Optional

from ..media import FRAMES_PER_SECOND, Clip, Numbering, at_pace
from .tcp import TCPServer


@dataclass
class Request:
    method: str
    uri: str
    headers: dict[str, str]


class Gone(ConnectionError):
    """The client closed the connection."""


@dataclass
class Session:
    """One connection of a client."""

    connection: socket.socket
    clip: Clip
    server: "RTSPServer"
    number: int
    numbering: Numbering = field(default_factory=Numbering)
    requests: list[Request] = field(default_factory=list)
    session: str = "12345678"
    transport: str = ""
    """What SETUP is answered with; by default what the client asked for first."""
    sdp: str = ""
    _buffer: bytes = b""

    # What comes

    def _fill(self) -> None:
        piece = self.connection.recv(65536)
        if not piece:
            raise Gone("the client closed the connection")
        self._buffer += piece

    def request(self) -> Request:
        """The next request; the client's own packets are skipped."""
        while True:
            while len(self._buffer) < 4:
                self._fill()
            if self._buffer[:1] == b"$":
                length = 4 + struct.unpack(">H", self._buffer[2:4])[0]
                while len(self._buffer) < length:
                    self._fill()
                self._buffer = self._buffer[length:]
                continue
            while b"\r\n\r\n" not in self._buffer:
                self._fill()
            head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
            first, *lines = head.decode(errors="replace").split("\r\n")
            headers = {}
            for line in lines:
                name, _, value = line.partition(":")
                headers[name.strip().lower()] = value.strip()
            length = int(headers.get("content-length", "0"))
            while len(self._buffer) < length:
                self._fill()
            self._buffer = self._buffer[length:]
            method, uri, *_ = first.split(" ")
            request = Request(method, uri, headers)
            self.requests.append(request)
            self.server.requests.append(request)
            return request

    # What goes

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def close(self) -> None:
        """Closes the connection, also where another thread waits for what comes on it."""
        self.connection.shutdown(socket.SHUT_RDWR)

    def answer(
        self, request: Request, status: str = "200 OK", headers: Optional[dict[str, str]] = None,
        body: str = "",
    ) -> None:
        lines = [f"RTSP/1.0 {status}", f"CSeq: {request.headers.get('cseq', '0')}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if body:
            lines += [f"Content-Length: {len(body)}"]
        self.send(("\r\n".join(lines) + "\r\n\r\n" + body).encode())

    def answer_usually(self, request: Request) -> None:
        """Answers as a camera does that behaves."""
        base = request.uri.rstrip("/")
        if request.method == "OPTIONS":
            self.answer(request, headers={
                "Public": "OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN, GET_PARAMETER"})
        elif request.method == "DESCRIBE":
            self.answer(request, headers={
                "Content-Type": "application/sdp", "Content-Base": base + "/"},
                body=self.sdp or self.clip.sdp())
        elif request.method == "SETUP":
            offered = request.headers.get("transport", "").split(",")[0]
            if not self.transport and "TCP" not in offered:
                self.answer(request, "461 Unsupported Transport")
                return
            self.answer(request, headers={
                "Transport": self.transport or offered, "Session": self.session})
        else:
            self.answer(request, headers={"Session": self.session})

    def until(self, method: str) -> Request:
        """Answers as usual up to a request, which is left to the caller."""
        while (request := self.request()).method != method:
            self.answer_usually(request)
        return request

    def play(self) -> None:
        """Answers as usual, PLAY included."""
        self.answer_usually(self.until("PLAY"))

    def frame(self, channel: int, content: bytes) -> None:
        """An interleaved frame (RFC 2326 §10.12)."""
        self.send(struct.pack(">cBH", b"$", channel, len(content)) + content)

    def picture(self, index: int) -> None:
        for packet in self.numbering.picture(self.clip.units[index % len(self.clip.units)]):
            self.frame(0, packet)

    def pictures(
        self, indices: Iterable[int], *, pace: float = 1 / FRAMES_PER_SECOND,
        beside: Callable[[int], object] = lambda index: None,
    ) -> None:
        """Sends pictures at their pace; `beside` is called before each."""
        for index in at_pace(indices, pace):
            beside(index)
            self.picture(index)

    def attend(self) -> None:
        """Answers what comes until the client goes."""
        try:
            while True:
                self.answer_usually(self.request())
        except OSError:
            pass

    def attend_aside(self) -> threading.Thread:
        """The same on another thread, while pictures are sent."""
        thread = threading.Thread(target=self.attend, daemon=True)
        thread.start()
        return thread


class RTSPServer(TCPServer):
    """Serves a clip as `behave` says to each client."""

    def __init__(self, clip: Clip, behave: Callable[[Session], None], **options) -> None:
        self.requests: list[Request] = []
        self.sessions: list[Session] = []

        def serve(connection: socket.socket, number: int) -> None:
            session = Session(connection, clip, self, number)
            self.sessions.append(session)
            behave(session)

        self._scheme = "rtsps" if options.get("tls") else "rtsp"
        super().__init__(serve, **options)

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self.address}:{self.port}/clip"
