"""Two machines of their own and a cable between them, made of network namespaces."""

from __future__ import annotations

import ctypes
import itertools
import os
import subprocess
import threading
from pathlib import Path
from typing import Callable, Sequence, TypeVar

Result = TypeVar("Result")

# Which networks this process has made, so that names do not meet.
_numbers = itertools.count(1)

# Python has setns(2) only from 3.12 on.
_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x4000_0000


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


class Network:
    """A server and a receiver with an address each, 10.99.0.1 and 10.99.0.2."""

    SERVER, RECEIVER = "10.99.0.1", "10.99.0.2"

    def __init__(self) -> None:
        number = next(_numbers)
        self._names = [f"trial{os.getpid()}-{number}{end}" for end in "sr"]
        server, receiver = self._names
        for name in self._names:
            _run("ip", "netns", "add", name)
            self._in(name, "ip", "link", "set", "lo", "up")
        _run("ip", "link", "add", "cable", "netns", server, "type", "veth", "peer", "name", "cable",
             "netns", receiver)
        for name, address in zip(self._names, (self.SERVER, self.RECEIVER)):
            self._in(name, "ip", "address", "add", f"{address}/24", "dev", "cable")
            self._in(name, "ip", "link", "set", "cable", "up")

    def __enter__(self) -> "Network":
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def _in(self, name: str, *command: str) -> None:
        _run("ip", "netns", "exec", name, *command)

    @property
    def at_server(self) -> Sequence[str]:
        """What starts a command on the server's machine."""
        return ["ip", "netns", "exec", self._names[0]]

    @property
    def at_receiver(self) -> Sequence[str]:
        return ["ip", "netns", "exec", self._names[1]]

    def on_server(self, *command: str) -> None:
        self._in(self._names[0], *command)

    def on_receiver(self, *command: str) -> None:
        self._in(self._names[1], *command)

    def opened_at_server(self, make: Callable[[], Result]) -> Result:
        """What `make` opens belongs to the server's machine, whoever uses it later."""
        made: list[Result] = []
        faults: list[Exception] = []

        def enter() -> None:
            # A thread is in one network, and so is what it opens, and the threads that it begins.
            try:
                with open(Path("/run/netns", self._names[0])) as name:
                    if _libc.setns(name.fileno(), _CLONE_NEWNET) != 0:
                        raise OSError(ctypes.get_errno(), "setns")
                made.append(make())
            except Exception as fault:
                faults.append(fault)

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        if faults:
            raise faults[0]
        return made[0]

    def link_down(self) -> None:
        """The receiver's end of the cable has no link any more, and its kernel knows."""
        self.on_receiver("ip", "link", "set", "cable", "down")

    def link_up(self) -> None:
        self.on_receiver("ip", "link", "set", "cable", "up")

    def unplug(self) -> None:
        """Nothing arrives any more, and nobody is told: who sends would be if its own machine dropped it."""
        for on_machine in (self.on_server, self.on_receiver):
            on_machine("iptables", "-A", "INPUT", "-i", "cable", "-j", "DROP")

    def plug(self) -> None:
        for on_machine in (self.on_server, self.on_receiver):
            on_machine("iptables", "-F")
