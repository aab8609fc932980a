"""A server that waits for a hello, and attackers beside it."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Callable, Iterable

from ..media import FRAMES_PER_SECOND, Clip, Numbering, at_pace
from ..programs import Program


class HelloServer:
    """Waits for a hello, and sends the pictures of a clip to whoever said it."""

    def __init__(self, clip: Clip, *, address: str = "127.0.0.1", port: int = 0) -> None:
        self.clip = clip
        self.numbering = Numbering()
        self.came: list[tuple[float, bytes]] = []
        """All that clients sent, and when."""
        self.client = ("", 0)
        """Who said hello last."""
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, port))
        self.address, self.port = self.socket.getsockname()
        self._said = threading.Event()
        self._is_closed = False
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> "HelloServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._is_closed = True
        self.socket.close()

    @property
    def url(self) -> str:
        return f"udp://{self.address}:{self.port}"

    def _listen(self) -> None:
        source = self.socket
        source.settimeout(0.2)
        while not self._is_closed:
            try:
                content, origin = source.recvfrom(65536)
            except TimeoutError:
                continue
            except OSError:
                return
            self.came.append((time.monotonic(), content))
            self.client = origin
            self._said.set()

    def await_hello(self, within: float = 20.0) -> None:
        if not self._said.wait(within):
            raise TimeoutError("nobody said hello")

    def move(self, *, address: str = "127.0.0.1") -> None:
        """From now on packets come from another port, as behind a NAT that forgot."""
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 0))
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, datagram: bytes) -> None:
        self.socket.sendto(datagram, self.client)

    def picture(self, index: int) -> None:
        for packet in self.numbering.picture(self.clip.units[index % len(self.clip.units)]):
            self.send(packet)

    def pictures(
        self, indices: Iterable[int], *, pace: float = 1 / FRAMES_PER_SECOND,
        beside: Callable[[int], object] = lambda index: None,
    ) -> None:
        for index in at_pace(indices, pace):
            beside(index)
            self.picture(index)


class Flood:
    """Sends garbage to a port at a rate, from a process of its own, until it is stopped."""

    def __init__(
        self, folder: Path, target: tuple[str, int], rate: int, *, origin: str = "127.0.0.1",
        kind: str = "random",
    ) -> None:
        """:param folder: where the program that does it is compiled.
        :param kind: see flood.c.
        """
        program, source = folder / "flood", Path(__file__).with_name("flood.c")
        if not program.exists():
            subprocess.run(["gcc", "-O2", "-o", program, source], check=True)
        self._program = Program([program, *target, rate, origin, kind])

    def stop(self) -> int:
        """Ends it, and says how many datagrams were sent."""
        self._program.stop(signal.SIGINT)
        return int(self._program.lines[-1])
