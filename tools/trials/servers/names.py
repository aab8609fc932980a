"""A name server that knows no name."""

from __future__ import annotations

import socket
import struct
import threading


class NoNames:
    """Answers each question with NXDOMAIN (RFC 1035 §4.1.1), at the usual port."""

    def __init__(self, address: str) -> None:
        self.questions = 0
        self._is_closed = False
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, 53))
        self._socket.settimeout(0.2)
        threading.Thread(target=self._answer, daemon=True).start()

    def __enter__(self) -> "NoNames":
        return self

    def __exit__(self, *_: object) -> None:
        self._is_closed = True

    def _answer(self) -> None:
        with self._socket:
            while not self._is_closed:
                try:
                    question, origin = self._socket.recvfrom(512)
                except TimeoutError:
                    continue
                # The name ends with an empty label, and its type and class follow.
                end = question.index(b"\0", 12) + 5
                self.questions += 1
                self._socket.sendto(
                    question[:2] + struct.pack(">HHHHH", 0x8183, 1, 0, 0, 0) + question[12:end],
                    origin)
