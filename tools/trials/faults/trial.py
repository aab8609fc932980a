"""One case while it is tried: what it starts, what it expects, and what that cost."""

from __future__ import annotations

import json
import shutil
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, ContextManager, Sequence, TypeVar

from .. import media
from ..programs import PATIENCE, RTP_RECV, RTP_SEND, Program, scratch
from ..web import last_object

Resource = TypeVar("Resource")

# What a receiver of small pictures may have in memory at most, whatever comes: it has 60 MiB when
# nothing happens.
MOST_MEMORY = 100.0
# What it may say at most: one line for each thing that happens.
MOST_LINES = 25


class Failure(Exception):
    """Something is not as it must be."""


@dataclass(frozen=True)
class Case:
    name: str
    """The row, and which part of it: 'F-01' or 'F-01 reset'."""
    title: str
    run: Callable[["Trial"], None]
    alone: bool = False
    """Whether it needs the machine for itself."""


CASES: list[Case] = []


def case(name: str, title: str, *, alone: bool = False):
    """Declares a case; the name begins with its row."""

    def declare(run: Callable[[Trial], None]) -> Callable[[Trial], None]:
        CASES.append(Case(name, title, run, alone))
        return run

    return declare


class Trial:
    """What a case has at hand; all that it starts ends with it."""

    def __init__(self) -> None:
        self.folder = scratch("faults")
        self.memory_limit = MOST_MEMORY
        self.line_limit = MOST_LINES
        self.notes: list[str] = []
        self._stack = ExitStack()
        self._receivers: list[Program] = []
        self._count = 0
        self._began = time.monotonic()

    def __enter__(self) -> "Trial":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def clean(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def enter(self, resource: ContextManager[Resource]) -> Resource:
        """Closes a server or a network with the case."""
        return self._stack.enter_context(resource)

    @property
    def clip(self) -> media.Clip:
        """Four seconds with a key picture each second."""
        return media.clip(self.folder)

    # Programs

    def program(self, command: Sequence[object], **options: Any) -> Program:
        program = Program(command, folder=self.folder, **options)
        self._stack.callback(program.kill)
        return program

    def receive(self, *arguments: object, stats: bool = True, **options: Any) -> Program:
        """Starts rtp-recv; its statistics go to a file that `statistics` reads."""
        self._count += 1
        more = ["--stats", self.folder / f"{self._count}.stats"] if stats else []
        program = self.program([RTP_RECV, *arguments, *more], **options)
        program.stats = self.folder / f"{self._count}.stats" if stats else None
        self._receivers.append(program)
        return program

    def send(self, *arguments: object, **options: Any) -> Program:
        return self.program([RTP_SEND, *arguments], **options)

    @staticmethod
    def statistics(program: Program) -> dict:
        return last_object(program.stats) if program.stats else {}

    # Expectations

    def expect(self, condition: object, what: str) -> None:
        if not condition:
            raise Failure(what)

    def equal(self, found: object, expected: object, what: str) -> None:
        if found != expected:
            raise Failure(f"{what}: {found!r}, and not {expected!r}")

    def ends(
        self, program: Program, status: int, says: str = "", *, within: float = PATIENCE
    ) -> None:
        """It ends with a status, and says something on the way."""
        found = program.wait(within)
        if found != status:
            raise Failure(f"it ended with {found}, and not {status}; it said:\n{program.text[-1500:]}")
        if says:
            program.line(says, 1)

    def pictures(
        self, path: Path, clip: media.Clip, *, first: int = 0, ticks: int = media.TICKS
    ) -> list[media.Seen]:
        """The pictures of a .jsonl file; each that is called intact must be that of FFmpeg."""
        seen = media.seen(path, first, ticks)
        for picture in seen:
            if picture.condition == "intact":
                self.equal(
                    picture.hash, clip.hashes[picture.index % len(clip.hashes)],
                    f"intact picture {picture.index}")
        return seen

    def all_intact(self, path: Path, clip: media.Clip, indices: Sequence[int], **options) -> None:
        """These pictures came, intact, each once and in order."""
        found = [
            picture.index for picture in self.pictures(path, clip, **options)
            if picture.condition == "intact"]
        missing = sorted(set(indices) - set(found))
        self.expect(not missing, f"these pictures are not there intact: {missing[:20]}")
        self.equal(len(found), len(set(found)), "intact pictures, each once")
        self.equal(found, sorted(found), "intact pictures in order")

    # What it cost

    @property
    def memory(self) -> float:
        """The most MiB that one of the receivers had in memory."""
        return max((program.peak for program in self._receivers), default=0.0)

    @property
    def processor(self) -> float:
        """The seconds of processor time of all receivers."""
        return sum(program.processor for program in self._receivers)

    def within_bounds(self) -> None:
        """The part of the oracle that all cases share."""
        for program in self._receivers:
            if program.is_running():
                program.stop()
            status = program.status or 0
            if status < 0 and -status not in (9, 15, 2):
                raise Failure(f"it crashed with signal {-status}:\n{program.text[-3000:]}")
            if len(program.lines) > self.line_limit:
                raise Failure(f"it said {len(program.lines)} lines:\n{program.text[:2000]}")
        if self.processor > time.monotonic() - self._began:
            raise Failure(f"it took more than one processor: {self.processor:.1f} s")
        if self.memory > self.memory_limit:
            raise Failure(f"it had {self.memory:.0f} MiB in memory")


def written(path: Path) -> list[dict]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]
