"""The programs that are tried, each with its output as lines, and waits that end."""

from __future__ import annotations

import io
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Optional, Sequence, TypeVar

REPOSITORY = Path(__file__).resolve().parents[2]
RTP_RECV = os.environ.get("RTP_RECV", str(REPOSITORY / ".build/release/rtp-recv"))
RTP_SEND = os.environ.get("RTP_SEND", str(REPOSITORY / ".build/release/rtp-send"))

Result = TypeVar("Result")

# A program that has not done what it is waited for by then never will, however busy the machine.
PATIENCE = 30.0

# What is kept of each program's output.
MOST_LINES = 20_000


class Impatience(Exception):
    """Something did not happen in time."""


def until(condition: Callable[[], Result], what: str, within: float = PATIENCE) -> Result:
    """Waits for something that no event announces, and returns what the condition returned."""
    end = time.monotonic() + within
    while not (result := condition()):
        if time.monotonic() > end:
            raise Impatience(f"not within {within:.0f} s: {what}")
        time.sleep(0.02)
    return result


def free_port(kind: int = socket.SOCK_DGRAM, address: str = "127.0.0.1") -> int:
    """An even port that is free together with the four above it.

    It is below those that the kernel gives away, so that it stays free.
    """
    for port in range(20_000 + 10 * (os.getpid() % 1000), 32_000, 10):
        sockets = []
        try:
            for offset in range(5):
                taken = socket.socket(socket.AF_INET, kind)
                sockets.append(taken)
                taken.bind((address, port + offset))
            if port not in _given:
                _given.add(port)
                return port
        except OSError:
            pass
        finally:
            for taken in sockets:
                taken.close()
    raise Impatience("no port is free")


_given: set[int] = set()


class Program:
    """A program that runs; its standard error, and its output if wanted, come as lines."""

    def __init__(
        self, command: Sequence[object], *, name: str = "", output: str = "lines",
        environment: Optional[dict[str, str]] = None, input: Any = subprocess.DEVNULL,
        prefix: Sequence[str] = (), folder: Optional[Path] = None, keep: Sequence[int] = (),
    ) -> None:
        """:param output: ``lines``, ``count`` (only the bytes are counted), ``pipe`` (the caller
            reads), or ``none``.
        :param prefix: what starts the command, such as ``ip netns exec NAME``.
        """
        self.command = [*prefix, *map(str, command)]
        self.name = name or Path(str(command[0])).name
        self.stats: Optional[Path] = None
        """Where its statistics go, if anywhere."""
        self.lines: list[str] = []
        self.said = 0
        """How many lines it has written, those that were not kept included."""
        self.bytes_read = 0
        self._began = time.monotonic()
        self._end: Optional[float] = None
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            self.command, stdin=input, stderr=subprocess.PIPE, cwd=folder, pass_fds=tuple(keep),
            stdout=subprocess.DEVNULL if output == "none" else subprocess.PIPE,
            env=None if environment is None else {**os.environ, **environment})
        self._readers = [threading.Thread(target=self._read, args=[self.process.stderr], daemon=True)]
        if output == "lines":
            self._readers.append(
                threading.Thread(target=self._read, args=[self.process.stdout], daemon=True))
        elif output == "count":
            self._readers.append(threading.Thread(target=self._count, daemon=True))
        self.status: Optional[int] = None
        """The exit status; negative for a signal."""
        self.usage: Optional[resource.struct_rusage] = None
        """What it has used, once it has ended."""
        self._ended = threading.Event()
        threading.Thread(target=self._await, daemon=True).start()
        for reader in self._readers:
            reader.start()

    def _await(self) -> None:
        # Popen.wait would not say what the program has used.
        _, code, self.usage = os.wait4(self.process.pid, 0)
        self.status = self.process.returncode = os.waitstatus_to_exitcode(code)
        self._end = time.monotonic()
        self._ended.set()

    @property
    def id(self) -> int:
        return self.process.pid

    @property
    def output(self) -> io.BufferedReader:
        """Its standard output, for a caller that reads it itself."""
        if not isinstance(self.process.stdout, io.BufferedReader):
            raise ValueError(f"the output of {self.name} is not read")
        return self.process.stdout

    @property
    def peak(self) -> float:
        """The most MiB that it had in memory, once it has ended."""
        return self.usage.ru_maxrss / 1024 if self.usage else 0.0

    @property
    def processor(self) -> float:
        """The seconds of processor time that it took, once it has ended."""
        return self.usage.ru_utime + self.usage.ru_stime if self.usage else 0.0

    @property
    def seconds(self) -> float:
        """How long it ran, or has run until now."""
        return (self._end or time.monotonic()) - self._began

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def _read(self, stream: Any) -> None:
        for line in stream:
            with self._changed:
                self.said += 1
                if len(self.lines) < MOST_LINES:
                    self.lines.append(line.decode(errors="replace").rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def _count(self) -> None:
        while piece := self.output.read1(1 << 18):
            self.bytes_read += len(piece)

    def line(self, pattern: str, within: float = PATIENCE, after: int = 0) -> re.Match[str]:
        """Waits for a line that matches."""
        expression = re.compile(pattern)
        end, seen = time.monotonic() + within, after
        while True:
            with self._changed:
                if seen >= len(self.lines):
                    self._changed.wait(0.2)
                fresh = self.lines[seen:]
            seen += len(fresh)
            for line in fresh:
                if match := expression.search(line):
                    return match
            gone = self._ended.is_set() and not any(r.is_alive() for r in self._readers)
            if not fresh and (gone or time.monotonic() > end):
                why = "it ended" if gone else f"not within {within:.0f} s"
                raise Impatience(f"{self.name} did not say /{pattern}/ ({why}):\n{self.text[-2000:]}")

    def port(self, within: float = PATIENCE) -> int:
        """The port that a sender says it listens on."""
        return int(self.line(r"listening on .*?:(\d+)", within)[1])

    def is_running(self) -> bool:
        return not self._ended.is_set()

    def send(self, number: int) -> None:
        if self.is_running():
            os.kill(self.process.pid, number)

    def wait(self, within: float = PATIENCE) -> int:
        """Waits for the end, and returns the exit status; negative for a signal."""
        if not self._ended.wait(within):
            raise Impatience(
                f"{self.name} did not end within {within:.0f} s:\n{self.text[-2000:]}")
        for reader in self._readers:
            reader.join(5)
        return self.status if self.status is not None else -signal.SIGKILL

    def stop(self, number: int = signal.SIGTERM, within: float = 10.0) -> int:
        """Ends it, and returns the exit status."""
        self.send(number)
        try:
            return self.wait(within)
        except Impatience:
            self.kill()
            raise

    def kill(self) -> None:
        """Ends it whatever it does."""
        self.send(signal.SIGCONT)
        self.send(signal.SIGKILL)
        self._ended.wait(10)


def require_programs() -> None:
    """Ends with a message if the programs that are to be tried have not been built."""
    for program in (RTP_RECV, RTP_SEND):
        if not os.access(program, os.X_OK):
            print(f"{program} is not there: run tools/setup trials and tools/build first", file=sys.stderr)
            sys.exit(64)


def scratch(name: str) -> Path:
    """A new folder for what programs write."""
    return Path(tempfile.mkdtemp(prefix=f"rtp-recv-{name}."))
