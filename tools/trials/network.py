"""Two machines of their own and a cable between them, made of network namespaces."""

from __future__ import annotations

import os
import subprocess
from typing import Sequence

# Which networks this process has made, so that names do not meet.
_count = 0


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


class Network:
    """A server and a receiver with an address each, 10.99.0.1 and 10.99.0.2."""

    SERVER, RECEIVER = "10.99.0.1", "10.99.0.2"

    def __init__(self) -> None:
        global _count
        _count += 1
        self._names = [f"trial{os.getpid()}-{_count}{end}" for end in "sr"]
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

    def unplug(self) -> None:
        """Nothing arrives any more, and nobody is told."""
        self.on_server("iptables", "-A", "INPUT", "-i", "cable", "-j", "DROP")
        self.on_server("iptables", "-A", "OUTPUT", "-o", "cable", "-j", "DROP")

    def plug(self) -> None:
        self.on_server("iptables", "-F")
